#pragma once
// The slices of a table that indices pick, element by element: what the kernels of gather, scatter_add and
// gather_dot share. A nest over one slice has the strides of two tensors, one of which is the table.

#include <array>
#include <cstdint>
#include <type_traits>

#include "core/op_rules/indexing.h"
#include "runtime/compute/index_check.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {

/// The part of a table's indexed dimension that a device holds.
struct IndexedDim {
  IndexCheck check;
  Interval held;
  int64_t stride = 0;  // in the table, in elements

  /// True if the slice at `index` is on this device.
  bool holds(int64_t index) const { return index >= held.begin && index < held.end; }
  /// The offset of the slice at `index` in the device's shard of the table.
  int64_t offset(int64_t index) const { return (index - held.begin) * stride; }
};

inline IndexedDim indexed_dim(const KernelSite& site, const LocalTensor& table, const LocalTensor& indices) {
  const auto at = static_cast<size_t>(position(table.type.dims, site.attributes.get<Dim>("dim").name));
  IndexedDim dim;
  dim.check = index_check(site, table.type.dims[at], indices);
  dim.held = table.box[at];
  dim.stride = dense_strides(table.extents())[at];
  return dim;
}

/// Like aligned_strides, but for the dimensions of indices: the indexed dimension is not a batch dimension.
inline std::vector<int64_t> batch_strides(const LocalTensor& table, const Dims& dims,
                                          const std::string& indexed) {
  std::vector<int64_t> strides = aligned_strides(table, dims);
  for (size_t i = 0; i < dims.size(); ++i)
    if (batch_position(table.type.dims, dims[i].name, indexed) < 0) strides[i] = 0;
  return strides;
}

/// A nest over the dimensions `slice` of `table` and of `other`.
inline LoopNest slice_nest(const Dims& slice, const LocalTensor& table, const LocalTensor& other) {
  LoopNest nest{{}, {aligned_strides(table, slice), aligned_strides(other, slice)}};
  for (const Dim& own : slice) nest.extents.push_back(local_extent(table, own.name));
  return collapse(nest);
}

/// Calls `f(a, b)` for each pair of elements of two slices.
template <typename A, typename B, typename F>
void for_each_pair(const LoopNest& nest, A* a, B* b, F f) {
  if (nest.loops() == 0) {
    f(*a, *b);
    return;
  }
  const size_t inner = nest.loops() - 1;
  const int64_t count = nest.count(), length = nest.extents[inner];
  const int64_t step_a = nest.strides[0][inner], step_b = nest.strides[1][inner];
  NestCursor row(nest, inner, 0);
  for (int64_t done = 0; done < count; done += length, row.next()) {
    A* x = a + row.offset(0);
    B* y = b + row.offset(1);
    if (step_a == 1 && step_b == 1)
      for (int64_t i = 0; i < length; ++i) f(x[i], y[i]);
    else
      for (int64_t i = 0; i < length; ++i) f(x[i * step_a], y[i * step_b]);
  }
}

/// The sum of the products of two slices' elements. Several sums run side by side, so that they are vectors.
template <typename T>
T slice_dot(const LoopNest& nest, const T* a, const T* b) {
  constexpr int64_t kLanes = 16;
  std::array<T, kLanes> sums{};
  const bool side_by_side = nest.loops() == 1 && nest.strides[0][0] == 1 && nest.strides[1][0] == 1;
  const int64_t length = side_by_side ? nest.extents[0] : 0;
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      T& sum = sums[static_cast<size_t>(lane)];
      sum = add_wrapping(sum, mul_wrapping(a[i + lane], b[i + lane]));
    }
  T total{0};
  for (const T sum : sums) total = add_wrapping(total, sum);
  const auto add = [&](T x, T y) { total = add_wrapping(total, mul_wrapping(x, y)); };
  if (side_by_side)
    for (; i < length; ++i) add(a[i], b[i]);
  else
    for_each_pair(nest, a, b, add);
  return total;
}

}  // namespace mtfc
