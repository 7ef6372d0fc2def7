#pragma once
// How a contraction of two operands becomes matrix products: a pure function of the local shapes.
//
// Each dimension is one of: batch (both operands and the result), row (left operand and result), column
// (right operand and result), contracted (both operands, not the result), or summed (one operand alone). A
// group of dimensions that lie side by side in a tensor, in the order of the plan, counts as one; an operand
// whose groups do so, and whose last dimension ends one of them, is used in place. Others are copied once, to
// [batch..., rows..., contracted...]; a summed dimension is added up in that copy.
//
// Example: x[batch, rows, cols] * w[rows, cols, hidden] -> [batch, hidden] is one product with m = batch,
// n = hidden, k = rows*cols, nothing copied. Its gradient x * dy -> [rows, cols, hidden] is m = rows*cols,
// n = hidden, k = batch with the left matrix transposed.
//
// A long contracted group with a small result gives threads nothing to share but its own length: it is cut
// into a fixed number of parts, whose products are computed side by side and added in order, so that sums do
// not depend on the number of threads.
//
// Which operand is copied follows from the order of the dimensions alone, never from sizes, so that a device
// with smaller shards needs no more workspace than the largest. What the parts need grows with the sizes up
// to a bound.

#include <cstdint>
#include <vector>

#include "core/tensors/shape.h"

namespace mtfc {

/// One matrix per combination of batch indices.
struct EinsumMatrix {
  bool packed = false;                 // copied (the result: computed apart, then copied)
  Dims packed_dims;                    // the order of that copy
  int64_t offset = 0;                  // of the copy in the workspace, in bytes
  bool transposed = false;             // columns are stored side by side, not rows
  int64_t leading = 1;                 // elements between stored rows; between columns where transposed
  std::vector<int64_t> batch_strides;  // in elements, per batch dimension
};

struct EinsumPlan {
  bool multiplies = false;  // nothing is contracted or summed: an element-wise product, all the rest is unset
  int left = 0;             // the operand that has the rows; the other one has the columns
  Dims batch, rows, columns, contracted;
  int64_t m = 1, n = 1, k = 1;
  EinsumMatrix a;            // left, m x k
  EinsumMatrix b;            // right, k x n
  EinsumMatrix c;            // result, m x n
  int64_t parts = 1;         // of the contracted group
  int64_t parts_offset = 0;  // in the workspace, of the products [part, batch..., rows..., columns...], dense
  int64_t workspace_bytes = 0;
};

/// For operands and result of one dtype; all of the result's dimensions are in some operand.
EinsumPlan plan_einsum(const TensorType& first, const TensorType& second, const TensorType& result);

}  // namespace mtfc
