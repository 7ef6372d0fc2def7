#include "runtime/compute/parallel.h"
#include "runtime/compute/prepare_typed.h"
#include "runtime/compute/slices.h"

namespace mtfc::gather_dot_kernel {
namespace {

struct DotPlan {
  IndexedDim dim;
  LoopNest index;  // over the indices: table, third operand
  LoopNest slice;  // table, third operand
  int64_t indices = 0;
  int64_t flops = 0;
};

DotPlan plan_dot(const KernelSite& site) {
  const LocalTensor &table = site.operands[0], &indices = site.operands[1], &with = site.operands[2];
  const std::string& indexed = site.attributes.get<Dim>("dim").name;
  const Dims& dims = indices.type.dims;
  DotPlan plan;
  plan.dim = indexed_dim(site, table, indices);
  plan.index =
      collapse({indices.extents(), {batch_strides(table, dims, indexed), aligned_strides(with, dims)}});
  plan.slice = slice_nest(slice_dims(table.type.dims, dims, indexed), table, with);
  plan.indices = indices.elements();
  plan.flops = 2 * plan.indices * plan.slice.count();
  return plan;
}

/// Writes zeros for slices that another device holds, because the devices' results are added.
template <typename T, typename I>
void dot(const DotPlan& plan, const KernelRun& run, const Interval& range) {
  if (range.begin >= range.end) return;
  const T* table = reinterpret_cast<const T*>(run.operands[0]);
  const I* indices = reinterpret_cast<const I*>(run.operands[1]);
  const T* with = reinterpret_cast<const T*>(run.operands[2]);
  T* result = reinterpret_cast<T*>(run.results[0]);
  const bool is_empty = plan.slice.count() == 0;
  NestCursor at(plan.index, plan.index.loops(), range.begin);
  for (int64_t i = range.begin; i < range.end; ++i, at.next()) {
    const int64_t index = static_cast<int64_t>(indices[i]);
    result[i] =
        is_empty || !plan.dim.holds(index)
            ? T{0}
            : slice_dot(plan.slice, table + at.offset(0) + plan.dim.offset(index), with + at.offset(1));
  }
}

template <typename T, typename I>
Kernel kernel_of(const DotPlan& plan) {
  return [plan](const KernelRun& run) -> int64_t {
    plan.dim.check.run(run.operands[1]);
    parallel_ranges(plan.indices, plan.flops, [&](int64_t begin, int64_t end) {
      dot<T, I>(plan, run, {begin, end});
    });
    return plan.flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare_with_indices<1>(
        WideNumbers{},
        []<typename T, typename I>(const KernelSite& site) { return kernel_of<T, I>(plan_dot(site)); }),
};

}  // namespace mtfc::gather_dot_kernel
