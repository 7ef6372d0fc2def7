#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/prepare_typed.h"

namespace mtfc::update_slice_kernel {
namespace {

struct UpdatePlan {
  Dim dim;
  LoopNest row;                            // over the result and the piece, without `dim` and `from`
  Interval held;                           // indices of `dim` on this device
  int64_t rows = 1;                        // rows of the piece
  int64_t stride = 0, piece_stride = 0;    // between rows
  int64_t row_elements = 0, elements = 0;  // elements of a row, and of the result
};

UpdatePlan plan_update(const KernelSite& site) {
  const LocalTensor &piece = site.operands[1], &result = site.results[0];
  UpdatePlan plan;
  plan.dim = site.attributes.get<Dim>("dim");
  const auto at = static_cast<size_t>(position(result.type.dims, plan.dim.name));
  const Dims rest = without(result.type.dims, {plan.dim});
  LoopNest row{{}, {aligned_strides(result, rest), aligned_strides(piece, rest)}};
  for (const Dim& dim : rest) row.extents.push_back(local_extent(result, dim.name));
  plan.row = collapse(row);
  plan.row_elements = plan.row.count();
  plan.held = result.box[at];
  plan.stride = dense_strides(result.extents())[at];
  plan.elements = result.elements();
  if (site.attributes.has("from")) {
    const Dim& from = site.attributes.get<Dim>("from");
    plan.rows = from.size;
    plan.piece_stride = aligned_strides(piece, {from})[0];
  }
  return plan;
}

void require_inside(const UpdatePlan& plan, int64_t at) {
  if (at < 0 || at > plan.dim.size - plan.rows)
    throw RunError(fmt::format("position {} is out of range: '{}' has size {}, and the piece takes {} of it",
                               at, plan.dim.name, plan.dim.size, plan.rows));
}

// Copies elements of a row from `first` on, to the end of its innermost loop at most, and returns their number.
template <typename T>
int64_t copy_run(const LoopNest& row, const T* from, T* to, int64_t first, int64_t last) {
  if (row.loops() == 0) {
    *to = *from;
    return 1;
  }
  const size_t inner = row.loops() - 1;
  const int64_t extent = row.extents[inner], skipped = first % extent;
  const int64_t count = std::min(extent - skipped, last - first);
  const int64_t step = row.strides[0][inner], from_step = row.strides[1][inner];
  const NestCursor at(row, inner, first / extent);
  to += at.offset(0) + skipped * step;
  from += at.offset(1) + skipped * from_step;
  if (step == 1 && from_step == 1) {
    std::copy_n(from, count, to);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * step] = from[i * from_step];
  }
  return count;
}

// Writes rows [begin, end) of the tensor from the piece, whose first row is row `at`.
template <typename T>
void write_rows(const UpdatePlan& plan, const T* piece, T* result, int64_t at, Interval rows) {
  const int64_t count = rows.size() * plan.row_elements;
  parallel_ranges(count, count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t row = rows.begin + i / plan.row_elements, first = i % plan.row_elements;
      const int64_t last = std::min(plan.row_elements, first + end - i);
      T* to = result + (row - plan.held.begin) * plan.stride;
      const T* from = piece + (row - at) * plan.piece_stride;
      for (int64_t k = first; k < last;) k += copy_run(plan.row, from, to, k, last);
      i += last - first;
    }
  });
}

template <typename T, typename I>
Kernel prepare(const KernelSite& site) {
  return [plan = plan_update(site)](const KernelRun& run) -> int64_t {
    const int64_t at = static_cast<int64_t>(*reinterpret_cast<const I*>(run.operands[2]));
    require_inside(plan, at);
    const T* tensor = reinterpret_cast<const T*>(run.operands[0]);
    T* result = reinterpret_cast<T*>(run.results[0]);
    // If the result is in the tensor's place, its other rows are kept: updating a row does not copy the whole
    // cache.
    if (tensor != result)
      parallel_ranges(plan.elements, plan.elements, [&](int64_t begin, int64_t end) {
        if (begin < end)
          std::memcpy(result + begin, tensor + begin, static_cast<size_t>(end - begin) * sizeof(T));
      });
    const Interval rows{std::max(at, plan.held.begin), std::min(at + plan.rows, plan.held.end)};
    if (rows.size() > 0) write_rows(plan, reinterpret_cast<const T*>(run.operands[1]), result, at, rows);
    return 0;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare_with_indices<2>(
        ModelTypes{}, []<typename T, typename I>(const KernelSite& site) { return prepare<T, I>(site); }),
};

}  // namespace mtfc::update_slice_kernel
