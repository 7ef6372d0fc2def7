#include <algorithm>
#include <cstring>

#include "runtime/compute/parallel.h"
#include "runtime/compute/slices.h"
#include "runtime/memory/dtypes.h"

namespace mtfc::gather_kernel {
namespace {

struct GatherPlan {
  IndexedDim dim;
  LoopNest index;  // over the indices, those that are added up innermost: indices, table, weights
  LoopNest slice;  // table, result
  int64_t results = 0;
  int64_t added = 1;  // slices that are added up to one result
  int64_t slice_elements = 0;
  int64_t flops = 0;
};

GatherPlan plan_gather(const KernelSite& site) {
  const LocalTensor &table = site.operands[0], &indices = site.operands[1], &result = site.results[0];
  const bool has_weights = site.operands.size() > 2;
  const std::string& indexed = site.attributes.get<Dim>("dim").name;
  const Dims over = site.attributes.has("over") ? site.attributes.get<Dims>("over") : Dims{};
  const Dims order = unite(without(indices.type.dims, over), over);
  GatherPlan plan;
  plan.dim = indexed_dim(site, table, indices);
  plan.index.strides = {
      aligned_strides(indices, order), batch_strides(table, order, indexed),
      has_weights ? aligned_strides(site.operands[2], order) : std::vector<int64_t>(order.size(), 0)};
  for (const Dim& own : order) plan.index.extents.push_back(local_extent(indices, own.name));
  for (const Dim& own : over) plan.added *= local_extent(indices, own.name);
  plan.results = 1;
  for (const Dim& own : without(indices.type.dims, over)) plan.results *= local_extent(indices, own.name);
  plan.index = collapse(plan.index);
  const Dims slice = slice_dims(table.type.dims, indices.type.dims, indexed);
  plan.slice = slice_nest(slice, table, result);
  plan.slice_elements = plan.slice.count();
  plan.flops = ((has_weights ? 1 : 0) + (site.attributes.has("over") ? 1 : 0)) * plan.slice_elements *
               indices.elements();
  return plan;
}

/// Adds one slice, times its weight (nullptr: 1), to a sum; the first slice replaces what was there. Sums of bf16 are
/// f32.
template <typename T, typename S>
void pick(const LoopNest& slice, const T* table, const T* weight, bool is_first, S* sum) {
  using C = Computed<T>;
  if (!weight && is_first)
    for_each_pair(slice, table, sum, [](const T& x, S& y) { y = S(x); });
  else if (!weight)
    for_each_pair(slice, table, sum, [](const T& x, S& y) { y = S(add_wrapping(C(y), C(x))); });
  else if (is_first)
    for_each_pair(slice, table, sum, [w = C(*weight)](const T& x, S& y) { y = S(mul_wrapping(w, C(x))); });
  else
    for_each_pair(slice, table, sum,
                  [w = C(*weight)](const T& x, S& y) { y = S(add_wrapping(C(y), mul_wrapping(w, C(x)))); });
}

/// Computes the results in `range`. One that has no slice on this device is zero, because the devices' results
/// are added.
template <typename T, typename I>
void gather(const GatherPlan& plan, const KernelRun& run, const Interval& range) {
  if (range.begin >= range.end || plan.slice_elements == 0) return;
  if (plan.added == 0) {
    const size_t results = static_cast<size_t>((range.end - range.begin) * plan.slice_elements);
    std::memset(reinterpret_cast<T*>(run.results[0]) + range.begin * plan.slice_elements, 0,
                results * sizeof(T));
    return;
  }
  const T* table = reinterpret_cast<const T*>(run.operands[0]);
  const I* indices = reinterpret_cast<const I*>(run.operands[1]);
  const T* weights = run.operands.size() > 2 ? reinterpret_cast<const T*>(run.operands[2]) : nullptr;
  T* result = reinterpret_cast<T*>(run.results[0]) + range.begin * plan.slice_elements;
  using C = Computed<T>;
  const bool rounds = !std::is_same_v<T, C> && plan.added > 1;
  thread_local std::vector<C> sums;
  if (rounds) sums.resize(static_cast<size_t>(plan.slice_elements));
  NestCursor at(plan.index, plan.index.loops(), range.begin * plan.added);
  for (int64_t i = range.begin; i < range.end; ++i, result += plan.slice_elements) {
    bool is_first = true;
    for (int64_t j = 0; j < plan.added; ++j, at.next()) {
      const int64_t index = static_cast<int64_t>(indices[at.offset(0)]);
      if (!plan.dim.holds(index)) continue;
      const T* const slice = table + at.offset(1) + plan.dim.offset(index);
      const T* const weight = weights ? weights + at.offset(2) : nullptr;
      if (rounds)
        pick(plan.slice, slice, weight, is_first, sums.data());
      else
        pick(plan.slice, slice, weight, is_first, result);
      is_first = false;
    }
    if (is_first)
      std::memset(result, 0, static_cast<size_t>(plan.slice_elements) * sizeof(T));
    else if (rounds)
      std::transform(sums.begin(), sums.end(), result, [](C sum) { return T(sum); });
  }
}

template <typename T, typename I>
Kernel kernel_of(const GatherPlan& plan) {
  return [plan](const KernelRun& run) -> int64_t {
    plan.dim.check.run(run.operands[1]);
    parallel_ranges(plan.results, plan.results * plan.added * plan.slice_elements,
                    [&](int64_t begin, int64_t end) {
                      gather<T, I>(plan, run, {begin, end});
                    });
    return plan.flops;
  };
}

Kernel prepare(const KernelSite& site) {
  const GatherPlan plan = plan_gather(site);
  const DType index = site.operands[1].type.dtype;
  // A bool is a byte that is picked as it is.
  const DType dtype = site.results[0].type.dtype == DType::kBool ? DType::kI8 : site.results[0].type.dtype;
  return dispatch(Types<float, double, Bf16, int32_t, int64_t, int8_t>{}, dtype, [&]<typename T>() -> Kernel {
    return dispatch(Integers{}, index, [&]<typename I>() -> Kernel { return kernel_of<T, I>(plan); });
  });
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare,
};

}  // namespace mtfc::gather_kernel
