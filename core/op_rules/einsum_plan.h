#pragma once
// Planning how matrix products compute a contraction of two operands. A plan is a pure function of the local
// shapes; cost model and kernel use the same one.
//
// Each dimension is one of: batch (both operands and the result), row (left operand and result), column
// (right operand and result), contracted (both operands, not the result), or summed (one operand alone).
// Dimensions of one class that lie side by side in a tensor, in the order of the plan, form one group. An
// operand is used in place if all its classes form such groups and its last dimension ends one of them. Any
// other operand is copied once, to [batch..., rows..., contracted...]; a summed dimension is added up in that
// copy.
//
// Example: x[batch, rows, cols] * w[rows, cols, hidden] -> [batch, hidden] is one product with
// m = batch, n = hidden, k = rows*cols, and nothing is copied. Its gradient x * dy -> [rows, cols, hidden] is
// one with m = rows*cols, n = hidden, k = batch, and the left matrix transposed.
//
// If the contracted group is long and the result small, threads can share nothing but the contracted group.
// It is cut into a fixed number of parts, whose products are computed side by side and added in order, so
// that sums do not depend on the number of threads.
//
// A tensor may be a box of a larger one in memory, cut along one dimension. If other dimensions come before that one,
// there are gaps between its elements, and it is copied as well: libraries are faster for dense matrices.
//
// Sums of products of bf16 are f32. A bf16 result that is not used in place lies in the workspace as f32.
//
// The order of the dimensions alone, never their sizes, decides which operand is copied, so a device with
// smaller shards needs no more workspace than the one with the largest. The workspace of the parts grows with
// the sizes up to a bound.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/tensors/shape.h"

namespace mtfc {

/// The storage of a matrix, or of one matrix per combination of batch indices.
struct EinsumMatrix {
  bool packed = false;                 // copied; for the result: computed in the workspace, then copied
  LocalDims packed_dims;               // the order of that copy
  int64_t offset = 0;                  // offset of the copy in the workspace, in bytes
  bool transposed = false;             // columns, not rows, are contiguous
  int64_t leading = 1;                 // elements between rows; between columns if transposed
  std::vector<int64_t> batch_strides;  // in elements, per batch dimension
};

/// An operand or result as it lies in memory.
struct EinsumTensor {
  EinsumTensor(LocalType box, bool gaps = false) : type(std::move(box)), has_gaps(gaps) {}

  LocalType type;
  bool has_gaps;  // by the order of the dimensions, even if the sizes of this device leave none
};

struct EinsumPlan {
  bool multiplies = false;  // nothing is contracted or summed: an element-wise product, and the rest is unset
  DType computed = DType::kF32;  // the dtype of sums of products, in the workspace
  int left = 0;                  // the operand that has the rows; the other one has the columns
  LocalDims batch, rows, columns, contracted;
  int64_t m = 1, n = 1, k = 1;
  EinsumMatrix a;     // left, m x k
  EinsumMatrix b;     // right, k x n
  EinsumMatrix c;     // result, m x n
  int64_t parts = 1;  // into which the contracted group is cut
  // Offset in the workspace, in bytes, of the dense products [part, batch..., rows..., columns...]
  int64_t parts_offset = 0;
  int64_t workspace_bytes = 0;
};

/// Operands have one dtype, and the result has the same, or f32 for bf16 operands. Or one operand and the result are
/// f32, and the other operand is bf16 or i8. Every dimension of the result is in some
/// operand.
EinsumPlan plan_einsum(const EinsumTensor& first, const EinsumTensor& second, const EinsumTensor& result);

}  // namespace mtfc
