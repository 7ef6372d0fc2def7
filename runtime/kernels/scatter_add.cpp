#include <algorithm>

#include "runtime/compute/parallel.h"
#include "runtime/compute/prepare_typed.h"
#include "runtime/compute/slices.h"

namespace mtfc::scatter_add_kernel {
namespace {

struct ScatterPlan {
  IndexedDim dim;  // of the result
  LoopNest index;  // over the indices: result, updates, weights
  LoopNest slice;  // result, updates
  int64_t indices = 0;
  int64_t slice_elements = 0;
  int64_t result_elements = 0;
  int64_t flops = 0;
};

ScatterPlan plan_scatter(const KernelSite& site) {
  const LocalTensor &updates = site.operands[0], &indices = site.operands[1], &result = site.results[0];
  const bool has_weights = site.operands.size() > 2;
  const std::string& indexed = site.attributes.get<Dim>("dim").name;
  const Dims& dims = indices.type.dims;
  ScatterPlan plan;
  plan.dim = indexed_dim(site, result, indices);
  plan.index = collapse(
      {indices.extents(),
       {batch_strides(result, dims, indexed), aligned_strides(updates, dims),
        has_weights ? aligned_strides(site.operands[2], dims) : std::vector<int64_t>(dims.size(), 0)}});
  plan.slice = slice_nest(without(updates.type.dims, dims), result, updates);
  plan.indices = indices.elements();
  plan.slice_elements = plan.slice.count();
  plan.result_elements = result.elements();
  plan.flops = (has_weights ? 2 : 1) * plan.indices * plan.slice_elements;
  return plan;
}

/// Adds the updates whose index falls into `own`, a part of the indexed dimension. One thread owns such a
/// part and so adds to each element in the order of the indices.
template <typename T, typename I>
void scatter(const ScatterPlan& plan, const KernelRun& run, const Interval& own) {
  if (plan.indices == 0 || plan.slice_elements == 0) return;
  const T* updates = reinterpret_cast<const T*>(run.operands[0]);
  const I* indices = reinterpret_cast<const I*>(run.operands[1]);
  const T* weights = run.operands.size() > 2 ? reinterpret_cast<const T*>(run.operands[2]) : nullptr;
  T* result = reinterpret_cast<T*>(run.results[0]);
  NestCursor at(plan.index, plan.index.loops(), 0);
  for (int64_t i = 0; i < plan.indices; ++i, at.next()) {
    const int64_t index = static_cast<int64_t>(indices[i]);
    if (index < own.begin || index >= own.end) continue;
    T* to = result + at.offset(0) + plan.dim.offset(index);
    if (weights)
      for_each_pair(plan.slice, to, updates + at.offset(1), [w = weights[at.offset(2)]](T& x, const T& y) {
        x = add_wrapping(x, mul_wrapping(w, y));
      });
    else
      for_each_pair(plan.slice, to, updates + at.offset(1), [](T& x, const T& y) { x = add_wrapping(x, y); });
  }
}

template <typename T, typename I>
Kernel kernel_of(const ScatterPlan& plan) {
  return [plan](const KernelRun& run) -> int64_t {
    plan.dim.check.run(run.operands[1]);
    std::fill_n(reinterpret_cast<T*>(run.results[0]), plan.result_elements, T{0});
    const int64_t first = plan.dim.held.begin;
    parallel_ranges(plan.dim.held.size(), plan.flops, [&](int64_t begin, int64_t end) {
      scatter<T, I>(plan, run, {first + begin, first + end});
    });
    return plan.flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare_with_indices<1>(
        WideNumbers{},
        []<typename T, typename I>(const KernelSite& site) { return kernel_of<T, I>(plan_scatter(site)); }),
};

}  // namespace mtfc::scatter_add_kernel
