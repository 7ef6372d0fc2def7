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
  const WholeValue* value = nullptr;
  const std::vector<double>* magnitudes = nullptr;
  bool has_magnitudes() const { return magnitudes && !magnitudes->empty(); }
};

/// The magnitudes that `kernel` adds to make `value`, its result of this number, one per element; empty if they are those of
/// the elements.
std::vector<double> magnitudes_of(const RunKernel& kernel, std::span<const Operand> operands,
                                  const WholeValue& value, size_t result);

/// The difference that rounding can make, relative to the magnitudes that are added. It follows the coarsest dtype
/// of operands and results, and the number of terms.
double rounding_of(const RunKernel& kernel, std::span<const Operand> operands, DType result);

/// The same for an operation that adds nothing.
double rounding_of(DType dtype);

}  // namespace mtfc
