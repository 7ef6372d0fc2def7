#include <omp.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "core/parts.h"
#include "runtime/dtypes.h"
#include "runtime/loop_nest.h"
#include "runtime/parallel.h"

namespace mtfc {
namespace {

constexpr int32_t kNoIndex = std::numeric_limits<int32_t>::max();  // of what fills up a short part

struct TopPlan {
  LoopNest rows;                // offsets in the operand, and in the given indices
  int64_t stride = 0;           // of the dimension searched, in the operand
  int64_t index_stride = 0;     // in the given indices
  bool given = false;           // the indices are an operand
  int64_t origin = 0;           // index of the device's first element
  std::vector<int64_t> bounds;  // of the parts, and the end of the last
  Interval ranks;               // of the result, on this device
  int64_t row_count = 0;
  int64_t elements = 0;  // of the operand
};

TopPlan plan_top(const KernelSite& site) {
  const LocalTensor &x = site.operands[0], &result = site.results[0];
  const Dim& dim = site.attributes.get<Dim>("dim");
  const Dims rest = without(x.type.dims, {dim});
  TopPlan plan;
  plan.given = site.operands.size() > 1;
  const LocalTensor& indices = plan.given ? site.operands[1] : x;
  LoopNest rows{{}, {aligned_strides(x, rest), aligned_strides(indices, rest)}};
  for (const Dim& own : rest) rows.extents.push_back(local_extent(x, own.name));
  plan.rows = collapse(rows);
  plan.row_count = plan.rows.count();
  plan.stride = aligned_strides(x, {dim})[0];
  plan.index_stride = aligned_strides(indices, {dim})[0];
  const Interval held = x.box[static_cast<size_t>(position(x.type.dims, dim.name))];
  plan.origin = held.begin;
  plan.bounds = {0, held.size()};
  if (site.attributes.has("parts"))
    plan.bounds = part_bounds(dim.size, site.attributes.get<Dim>("parts").size, held,
                              result.box[result.box.size() - 2]);
  plan.ranks = result.box.back();
  plan.elements = x.elements();
  return plan;
}

/// One row of the operand: elements by their place along the dimension.
template <typename T>
struct Row {
  const T* x;
  int64_t stride;
  const int32_t* given;  // indices, or nullptr
  int64_t index_stride;
  int64_t origin;

  T value(int64_t place) const { return x[place * stride]; }
  int32_t index(int64_t place) const {
    return given ? given[place * index_stride] : static_cast<int32_t>(origin + place);
  }
  /// Whether the element at `a` ranks before that at `b`.
  bool operator()(int64_t a, int64_t b) const {
    const T va = value(a), vb = value(b);
    const int32_t ia = index(a), ib = index(b);
    if ((ia == kNoIndex) != (ib == kNoIndex)) return ib == kNoIndex;
    const bool no_number = va != va, other = vb != vb;
    if (no_number != other) return no_number;
    if (!no_number && va != vb) return va > vb;
    return ia < ib;
  }
};

/// The places of the first elements by rank, at most as many as `best` holds: how many there are. A heap
/// keeps them with the last one on top.
template <typename T>
int64_t rank_first(const Row<T>& row, Interval places, std::span<int32_t> best) {
  const int64_t kept = std::min(places.size(), static_cast<int64_t>(best.size()));
  if (kept == 0) return 0;
  const auto end = best.begin() + kept;
  for (int64_t i = 0; i < kept; ++i) best[static_cast<size_t>(i)] = static_cast<int32_t>(places.begin + i);
  std::make_heap(best.begin(), end, row);
  for (int64_t place = places.begin + kept; place < places.end; ++place) {
    if (!row(place, best[0])) continue;
    std::pop_heap(best.begin(), end, row);
    *(end - 1) = static_cast<int32_t>(place);
    std::push_heap(best.begin(), end, row);
  }
  std::sort_heap(best.begin(), end, row);
  return kept;
}

template <typename T>
void write_ranks(const TopPlan& plan, const Row<T>& row, std::span<const int32_t> best, T* values,
                 int32_t* indices) {
  for (int64_t rank = plan.ranks.begin; rank < plan.ranks.end; ++rank, ++values, ++indices) {
    const bool there = rank < static_cast<int64_t>(best.size());
    const int64_t place = there ? best[static_cast<size_t>(rank)] : 0;
    *values = there ? row.value(place) : std::numeric_limits<T>::lowest();
    *indices = there ? row.index(place) : kNoIndex;
  }
}

template <typename T>
void top(const TopPlan& plan, const KernelRun& run, std::span<int32_t> best, int64_t begin, int64_t end) {
  const T* x = reinterpret_cast<const T*>(run.operands[0]);
  const int32_t* given = plan.given ? reinterpret_cast<const int32_t*>(run.operands[1]) : nullptr;
  const int64_t parts = static_cast<int64_t>(plan.bounds.size()) - 1;
  NestCursor at(plan.rows, plan.rows.loops(), begin);
  for (int64_t i = begin; i < end; ++i, at.next()) {
    const Row<T> row{x + at.offset(0), plan.stride, given ? given + at.offset(1) : nullptr, plan.index_stride,
                     plan.origin};
    for (int64_t p = 0; p < parts; ++p) {
      const Interval places{plan.bounds[static_cast<size_t>(p)], plan.bounds[static_cast<size_t>(p) + 1]};
      const int64_t found = rank_first(row, places, best);
      const int64_t to = (i * parts + p) * plan.ranks.size();
      write_ranks(plan, row, best.first(static_cast<size_t>(found)),
                  reinterpret_cast<T*>(run.results[0]) + to, reinterpret_cast<int32_t*>(run.results[1]) + to);
    }
  }
}

template <typename T>
Kernel prepare(const KernelSite& site) {
  const TopPlan plan = plan_top(site);
  const auto wanted = static_cast<size_t>(plan.ranks.end);
  const auto threads = static_cast<size_t>(std::max(1, omp_get_max_threads()));
  const auto scratch = std::make_shared<std::vector<int32_t>>(wanted * threads);
  return [plan, wanted, scratch](const KernelRun& run) {
    parallel_ranges(plan.row_count, plan.elements, [&](int64_t begin, int64_t end) {
      if (begin >= end) return;
      const auto thread = static_cast<size_t>(omp_get_thread_num());
      top<T>(plan, run, {scratch->data() + thread * wanted, wanted}, begin, end);
    });
    return plan.elements;
  };
}

}  // namespace

extern const KernelDef k_top_k_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return dispatch(Numbers{}, site.operands[0].type.dtype,
                          [&]<typename T>() -> Kernel { return prepare<T>(site); });
        },
};

}  // namespace mtfc
