#include <cstring>

#include "core/op_rules/indexing.h"
#include "runtime/compute/index_check.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/memory/dtypes.h"

namespace mtfc::gather_kernel {
namespace {

struct GatherPlan {
  IndexCheck check;
  LoopNest index;      // over the indices; offsets into the table along batch dimensions
  LoopNest slice;      // over the rest of the table
  Interval held;       // indices of the indexed dimension on this device
  int64_t stride = 0;  // the indexed dimension's stride in the table
  int64_t slice_elements = 0;
  NestCopy copy = nullptr;
  int64_t element = 0;  // bytes
};

/// Like aligned_strides, but for the dimensions of indices: the indexed dimension is not a batch dimension.
std::vector<int64_t> batch_strides(const LocalTensor& table, const Dims& dims, const std::string& indexed) {
  std::vector<int64_t> strides = aligned_strides(table, dims);
  for (size_t i = 0; i < dims.size(); ++i)
    if (batch_position(table.type.dims, dims[i].name, indexed) < 0) strides[i] = 0;
  return strides;
}

GatherPlan plan_gather(const KernelSite& site) {
  const LocalTensor &table = site.operands[0], &indices = site.operands[1];
  const auto at = static_cast<size_t>(position(table.type.dims, site.attributes.get<Dim>("dim").name));
  const Dim& dim = table.type.dims[at];
  const Dims rest = without(without(table.type.dims, indices.type.dims), {dim});
  GatherPlan plan;
  plan.check = {dim, indices};
  plan.index = collapse({indices.extents(), {batch_strides(table, indices.type.dims, dim.name)}});
  LoopNest slice{{}, {aligned_strides(table, rest)}};
  for (const Dim& own : rest) slice.extents.push_back(local_extent(table, own.name));
  plan.slice = collapse(slice);
  plan.held = table.box[at];
  plan.stride = dense_strides(table.extents())[at];
  plan.slice_elements = plan.slice.count();
  plan.copy = nest_copy(table.type.dtype);
  plan.element = size_of(table.type.dtype);
  return plan;
}

/// Writes zeros for slices that another device holds, because the devices' results are added.
template <typename I>
void gather(const GatherPlan& plan, const std::byte* table, const I* indices, std::byte* result,
            const Interval& range) {
  if (range.begin >= range.end || plan.slice_elements == 0) return;
  const int64_t bytes = plan.slice_elements * plan.element;
  NestCursor at(plan.index, plan.index.loops(), range.begin);
  for (int64_t i = range.begin, end = range.end; i < end; ++i, at.next()) {
    const int64_t index = static_cast<int64_t>(indices[i]);
    if (index < plan.held.begin || index >= plan.held.end) {
      std::memset(result + i * bytes, 0, static_cast<size_t>(bytes));
      continue;
    }
    const int64_t first = at.offset(0) + (index - plan.held.begin) * plan.stride;
    plan.copy(plan.slice, 0, plan.slice_elements, table + first * plan.element, result + i * bytes);
  }
}

Kernel prepare(const KernelSite& site) {
  const GatherPlan plan = plan_gather(site);
  const int64_t count = site.operands[1].elements();
  return dispatch(Integers{}, site.operands[1].type.dtype, [&]<typename I>() -> Kernel {
    return [plan, count](const KernelRun& run) -> int64_t {
      plan.check.run(run.operands[1]);
      parallel_ranges(count, count * plan.slice_elements, [&](int64_t begin, int64_t end) {
        gather(plan, run.operands[0], reinterpret_cast<const I*>(run.operands[1]), run.results[0],
               {begin, end});
      });
      return 0;
    };
  });
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare,
};

}  // namespace mtfc::gather_kernel
