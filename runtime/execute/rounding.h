#pragma once
// The difference that rounding alone can make between two ways of computing the same operation from the same
// operands: whole or in shards, in one order of summation or another.
//
// It depends on the magnitudes that are added, not on their sum, which may cancel: for an einsum and a sum, these
// are the sums of the magnitudes of the terms.
//
//   s = reduce_sum([1e6, 1, -1e6])     magnitude of s: 2,000,001
//   y = mul(x, w), x = a - a + b       magnitude of y: (|a| + |a| + |b|) |w|, if x is a sum that is still partial

#include <span>
#include <vector>

#include "core/graph/op_def.h"
#include "core/program/program.h"
#include "runtime/execute/whole_value.h"

namespace mtfc {

/// A tensor with the magnitudes that were added to make it; empty if they are those of its elements.
struct Operand {
  const HostTensor* value = nullptr;
  const std::vector<double>* magnitudes = nullptr;
  bool has_magnitudes() const { return magnitudes && !magnitudes->empty(); }
};

struct Rounding {
  std::vector<double> magnitudes = {};  // that are added to make the elements; empty: those of the elements
  double of_terms = 0;                  // the largest difference, relative to the magnitudes, and
  double of_result = 0;  // what is added to it, relative to the elements, or to the terms that devices hold
};

/// The difference that rounding can make in `value`, the result of this number of `kernel`. It follows from the
/// coarsest dtype of operands and results, and from the number of terms. `exact`: the operands are those that the
/// other way has computed with, bit by bit. Otherwise they may be its operands in another form, such as a sum that it
/// holds in parts.
Rounding rounding_of(const RunKernel& kernel, std::span<const Operand> operands, const HostTensor& value,
                     size_t result, bool exact);

/// The same for an operation that adds nothing.
Rounding rounding_of(DType dtype);

}  // namespace mtfc
