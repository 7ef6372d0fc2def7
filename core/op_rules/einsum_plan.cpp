#include "core/op_rules/einsum_plan.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/diagnostics/error.h"
#include "core/tensors/alignment.h"

namespace mtfc {
namespace {

constexpr int64_t kParts = 16;          // the number of parts into which a contracted group is cut
constexpr int64_t kLongGroup = 8192;    // a group with at least this many elements is cut,
constexpr int64_t kSmallResult = 4096;  // if the result has at most this many

LocalDims common(const LocalDims& order, const LocalDims& other) {
  LocalDims both;
  for (const LocalDim& dim : order)
    if (contains(other, dim.name)) both.push_back(dim);
  return both;
}

/// The number of elements between neighbours along dimension `at` of a dense tensor.
int64_t stride(const LocalDims& dims, size_t at) {
  int64_t result = 1;
  for (size_t i = at + 1; i < dims.size(); ++i) result *= dims[i].size;
  return result;
}

/// A group of dimensions within one tensor.
struct Group {
  bool empty = true;
  bool last = false;  // ends with the tensor's last dimension
  int64_t stride = 1;
};

/// The group within a tensor, or nothing if its dimensions do not lie side by side in this order.
std::optional<Group> group_in(const LocalDims& dims, const LocalDims& group) {
  if (group.empty()) return Group{};
  const int begin = position(dims, group[0].name);
  for (size_t i = 0; i < group.size(); ++i)
    if (position(dims, group[i].name) != begin + static_cast<int>(i)) return std::nullopt;
  const size_t end = static_cast<size_t>(begin) + group.size();
  return Group{false, end == dims.size(), stride(dims, end - 1)};
}

std::vector<int64_t> strides_of(const LocalDims& dims, const LocalDims& batch) {
  std::vector<int64_t> strides;
  for (const LocalDim& dim : batch)
    strides.push_back(stride(dims, static_cast<size_t>(position(dims, dim.name))));
  return strides;
}

/// The matrix `rows` x `columns` in a tensor, if the tensor can be used in place. A result can't be transposed; the
/// plan exchanges its operands instead.
std::optional<EinsumMatrix> in_place(const EinsumTensor& tensor, const LocalDims& batch,
                                     const LocalDims& rows, const LocalDims& columns, bool may_transpose) {
  const LocalDims& dims = tensor.type.dims;
  if (tensor.has_gaps || dims.size() != batch.size() + rows.size() + columns.size()) return std::nullopt;
  const auto row = group_in(dims, rows);
  const auto column = group_in(dims, columns);
  if (!row || !column) return std::nullopt;
  EinsumMatrix matrix;
  matrix.batch_strides = strides_of(dims, batch);
  if (column->empty || column->last) {
    matrix.leading = row->empty ? elements(columns) : row->stride;
    return matrix;
  }
  if (!may_transpose || !(row->empty || row->last)) return std::nullopt;
  matrix.transposed = true;
  matrix.leading = column->stride;
  return matrix;
}

EinsumMatrix packed(const LocalDims& batch, const LocalDims& rows, const LocalDims& columns) {
  EinsumMatrix matrix;
  matrix.packed = true;
  matrix.packed_dims = unite(unite(batch, rows), columns);
  matrix.leading = elements(columns);
  matrix.batch_strides = strides_of(matrix.packed_dims, batch);
  return matrix;
}

EinsumMatrix place(const EinsumTensor& tensor, const LocalDims& batch, const LocalDims& rows,
                   const LocalDims& columns) {
  const auto found = in_place(tensor, batch, rows, columns, true);
  return found ? *found : packed(batch, rows, columns);
}

/// Plans both operands with the contracted dimensions in the order of `contracted`, and returns how many of
/// them must be copied.
int plan_operands(EinsumPlan& plan, const std::array<const EinsumTensor*, 2>& operands,
                  const LocalDims& contracted) {
  const EinsumTensor& left = *operands[static_cast<size_t>(plan.left)];
  const EinsumTensor& right = *operands[static_cast<size_t>(1 - plan.left)];
  plan.contracted = contracted;
  plan.a = place(left, plan.batch, plan.rows, contracted);
  plan.b = place(right, plan.batch, contracted, plan.columns);
  return plan.a.packed + plan.b.packed;
}

/// Chooses the operand that has the rows. The other one, whose own dimension comes last in the result, has
/// the columns, which must lie side by side. With rows alone, the result is one column of any stride.
int choose_left(const LocalDims& result, const LocalDims& free_first, const LocalDims& free_second) {
  if (free_first.empty()) return 1;
  if (free_second.empty()) return 0;
  return position(result, free_first.back().name) < position(result, free_second.back().name) ? 0 : 1;
}

int64_t grant(EinsumPlan& plan, int64_t bytes) {
  const int64_t offset = plan.workspace_bytes;
  plan.workspace_bytes += aligned(bytes);
  return offset;
}

/// The result comes first: its place is the same for operands of any size.
void place_in_workspace(EinsumPlan& plan, DType left, DType right) {
  const auto place = [&](EinsumMatrix& matrix, DType dtype) {
    if (matrix.packed) matrix.offset = grant(plan, elements(matrix.packed_dims) * size_of(dtype));
  };
  place(plan.c, plan.computed);
  place(plan.a, left);
  place(plan.b, right);
}

/// Grants a large result the most that a small one needs, since shards of a large result may be small.
void cut_contracted(EinsumPlan& plan) {
  if (plan.k < kLongGroup) return;
  const int64_t result = elements(plan.batch) * plan.m * plan.n;
  plan.parts_offset = grant(plan, kParts * std::min(result, kSmallResult) * size_of(plan.computed));
  if (result <= kSmallResult) plan.parts = kParts;
}

}  // namespace

EinsumPlan plan_einsum(const EinsumTensor& first_tensor, const EinsumTensor& second_tensor,
                       const EinsumTensor& product) {
  const LocalType &first = first_tensor.type, &second = second_tensor.type, &result = product.type;
  EinsumPlan plan;
  const std::array<const EinsumTensor*, 2> operands = {&first_tensor, &second_tensor};
  if (without(unite(first.dims, second.dims), result.dims).empty()) {
    plan.multiplies = true;
    return plan;
  }
  plan.computed = computed_dtype(product_dtype(first.dtype, second.dtype));
  plan.batch = common(common(result.dims, first.dims), second.dims);
  const std::array<LocalDims, 2> free = {common(without(result.dims, second.dims), first.dims),
                                         common(without(result.dims, first.dims), second.dims)};
  plan.left = choose_left(result.dims, free[0], free[1]);
  const auto left = static_cast<size_t>(plan.left), right = 1 - left;
  plan.rows = free[left];
  plan.columns = free[right];
  const auto found = in_place(product, plan.batch, plan.rows, plan.columns, false);
  if (found) {
    plan.c = *found;
  } else {
    // The result is copied in any case, so its groups may as well have the operands' order.
    plan.rows = common(operands[left]->type.dims, free[left]);
    plan.columns = common(operands[right]->type.dims, free[right]);
    plan.c = packed(plan.batch, plan.rows, plan.columns);
  }
  const LocalDims in_first = common(without(first.dims, result.dims), second.dims);
  const LocalDims in_second = common(without(second.dims, result.dims), first.dims);
  EinsumPlan other = plan;
  if (plan_operands(other, operands, in_second) < plan_operands(plan, operands, in_first)) plan = other;
  plan.m = elements(plan.rows);
  plan.n = elements(plan.columns);
  plan.k = elements(plan.contracted);
  place_in_workspace(plan, operands[left]->type.dtype, operands[right]->type.dtype);
  if (plan.m * plan.n > 1) cut_contracted(plan);
  return plan;
}

}  // namespace mtfc
