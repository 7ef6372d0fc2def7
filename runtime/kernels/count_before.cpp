#include <algorithm>

#include "runtime/compute/index_check.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/memory/dtypes.h"

namespace mtfc::count_before_kernel {
namespace {

struct CountPlan {
  IndexCheck check;
  LoopNest index;  // over the indices, those that are counted together innermost
  int64_t rows = 1;
  int64_t counted = 1;  // in each row
  int64_t values = 0;   // that an index may have
};

CountPlan plan_count(const KernelSite& site) {
  const LocalTensor& indices = site.operands[0];
  const Dims& over = site.attributes.get<Dims>("over");
  const Dim& dim = site.attributes.get<Dim>("dim");
  CountPlan plan;
  plan.check = index_check(site, dim, indices);
  const Dims rest = without(indices.type.dims, over);
  for (const Dim& own : rest) plan.rows *= local_extent(indices, own.name);
  for (const Dim& own : over) plan.counted *= local_extent(indices, own.name);
  const Dims order = unite(rest, over);
  plan.index.strides = {aligned_strides(indices, order)};
  for (const Dim& own : order) plan.index.extents.push_back(local_extent(indices, own.name));
  plan.index = collapse(plan.index);
  plan.values = dim.size;
  check_invariant(site.workspace_bytes >= plan.values * size_of(DType::kI32),
                  "a count_before was granted too little workspace");
  return plan;
}

template <typename I>
void count(const CountPlan& plan, const I* indices, int32_t* result, int32_t* counters) {
  NestCursor at(plan.index, plan.index.loops(), 0);
  for (int64_t row = 0; row < plan.rows; ++row) {
    std::fill_n(counters, plan.values, 0);
    for (int64_t i = 0; i < plan.counted; ++i, at.next()) {
      const int64_t index = static_cast<int64_t>(indices[at.offset(0)]);
      result[at.offset(0)] = index >= 0 && index < plan.values ? counters[index]++ : 0;
    }
  }
}

Kernel prepare(const KernelSite& site) {
  return dispatch(Integers{}, site.operands[0].type.dtype, [&]<typename I>() -> Kernel {
    return [plan = plan_count(site)](const KernelRun& run) -> int64_t {
      plan.check.run(run.operands[0]);
      const int64_t elements = plan.rows * plan.counted;
      if (elements > 0)
        count(plan, reinterpret_cast<const I*>(run.operands[0]), reinterpret_cast<int32_t*>(run.results[0]),
              reinterpret_cast<int32_t*>(run.workspace));
      return elements;
    };
  });
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare,
};

}  // namespace mtfc::count_before_kernel
