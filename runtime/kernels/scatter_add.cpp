#include <cstring>

#include "core/op_rules/indexing.h"
#include "runtime/compute/index_check.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/wrapping.h"
#include "runtime/memory/dtypes.h"

namespace mtfc::scatter_add_kernel {
namespace {

struct ScatterPlan {
  IndexCheck check;
  LoopNest index;      // over the indices: offsets in the updates, and in the result along batch dimensions
  LoopNest slice;      // over the rest of the updates: in the updates and in the result
  Interval held;       // indices of the indexed dimension on this device
  int64_t stride = 0;  // the indexed dimension's stride in the result
  int64_t indices = 0;
  int64_t slice_elements = 0;
  int64_t result_elements = 0;
  int64_t flops = 0;
};

ScatterPlan plan_scatter(const KernelSite& site) {
  const LocalTensor &updates = site.operands[0], &indices = site.operands[1], &result = site.results[0];
  const auto at = static_cast<size_t>(position(result.type.dims, site.attributes.get<Dim>("dim").name));
  const Dim& dim = result.type.dims[at];
  const Dims& index_dims = indices.type.dims;
  const Dims rest = without(updates.type.dims, index_dims);
  ScatterPlan plan;
  plan.check = {dim, indices};
  std::vector<int64_t> batch = aligned_strides(result, index_dims);
  for (size_t i = 0; i < index_dims.size(); ++i)
    if (batch_position(result.type.dims, index_dims[i].name, dim.name) < 0) batch[i] = 0;
  plan.index = collapse({indices.extents(), {aligned_strides(updates, index_dims), batch}});
  LoopNest slice{{}, {aligned_strides(updates, rest), aligned_strides(result, rest)}};
  for (const Dim& own : rest) slice.extents.push_back(local_extent(updates, own.name));
  plan.slice = collapse(slice);
  plan.held = result.box[at];
  plan.stride = dense_strides(result.extents())[at];
  plan.indices = indices.elements();
  plan.slice_elements = plan.slice.count();
  plan.result_elements = result.elements();
  plan.flops = updates.elements();
  return plan;
}

template <typename T>
void add_slice(const LoopNest& nest, int64_t count, const T* from, T* to) {
  if (nest.loops() == 0) {
    *to = add_wrapping(*to, *from);
    return;
  }
  const size_t inner = nest.loops() - 1;
  const int64_t length = nest.extents[inner], step = nest.strides[0][inner], stride = nest.strides[1][inner];
  NestCursor row(nest, inner, 0);
  for (int64_t done = 0; done < count; done += length, row.next()) {
    const T* source = from + row.offset(0);
    T* target = to + row.offset(1);
    for (int64_t i = 0; i < length; ++i)
      target[i * stride] = add_wrapping(target[i * stride], source[i * step]);
  }
}

/// Adds the updates whose index falls into [begin, end) of the indexed dimension. One thread owns such a
/// range and so adds to each element in the order of the indices.
template <typename T, typename I>
void scatter(const ScatterPlan& plan, const T* updates, const I* indices, T* result, const Interval& own) {
  if (plan.indices == 0 || plan.slice_elements == 0) return;
  NestCursor at(plan.index, plan.index.loops(), 0);
  for (int64_t i = 0; i < plan.indices; ++i, at.next()) {
    const int64_t index = static_cast<int64_t>(indices[i]) - plan.held.begin;
    if (index < own.begin || index >= own.end) continue;
    add_slice(plan.slice, plan.slice_elements, updates + at.offset(0),
              result + at.offset(1) + index * plan.stride);
  }
}

template <typename T, typename I>
Kernel kernel_of(const ScatterPlan& plan) {
  return [plan](const KernelRun& run) -> int64_t {
    plan.check.run(run.operands[1]);
    T* result = reinterpret_cast<T*>(run.results[0]);
    std::fill_n(result, plan.result_elements, T{0});
    parallel_ranges(plan.held.size(), plan.flops, [&](int64_t begin, int64_t end) {
      scatter(plan, reinterpret_cast<const T*>(run.operands[0]), reinterpret_cast<const I*>(run.operands[1]),
              result, {begin, end});
    });
    return plan.flops;
  };
}

Kernel prepare(const KernelSite& site) {
  const ScatterPlan plan = plan_scatter(site);
  const DType index = site.operands[1].type.dtype;
  return dispatch(Numbers{}, site.results[0].type.dtype, [&]<typename T>() -> Kernel {
    return dispatch(Integers{}, index, [&]<typename I>() -> Kernel { return kernel_of<T, I>(plan); });
  });
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare,
};

}  // namespace mtfc::scatter_add_kernel
