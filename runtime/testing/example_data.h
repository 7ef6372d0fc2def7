#pragma once
// Data for the examples of operations, the same in every run.

#include "core/graph/op_def.h"
#include "runtime/testing/interpreter.h"

namespace mtfc {

/// The operand filled as its example says. Different `seed`s give different data.
HostTensor example_tensor(const ExampleOperand& operand, uint64_t seed);

/// The example with `dtype` in place of every float dtype, in operands and attributes.
Example with_floats(Example example, DType dtype);

/// Element `index` as a number.
double element(const HostTensor& tensor, int64_t index);
void set_element(HostTensor& tensor, int64_t index, double value);

}  // namespace mtfc
