#include <algorithm>
#include <memory>

#include "core/op_rules/parts.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/prepare_typed.h"

namespace mtfc::top_k_kernel {
namespace {

struct TopPlan {
  LoopNest rows;                // offsets in the operand
  int64_t stride = 0;           // the searched dimension's stride in the operand
  int64_t origin = 0;           // index of the device's first element
  std::vector<int64_t> bounds;  // starts of the parts, and the end of the last
  Interval ranks;               // ranks of the result that this device holds
  int64_t row_count = 0;
  int64_t elements = 0;  // number of elements of the operand
};

TopPlan plan_top(const KernelSite& site) {
  const LocalTensor &x = site.operands[0], &result = site.results[0];
  const Dim& dim = site.attributes.get<Dim>("dim");
  const Dims rest = without(x.type.dims, {dim});
  TopPlan plan;
  LoopNest rows{{}, {aligned_strides(x, rest)}};
  for (const Dim& own : rest) rows.extents.push_back(local_extent(x, own.name));
  plan.rows = collapse(rows);
  plan.row_count = plan.rows.count();
  plan.stride = aligned_strides(x, {dim})[0];
  const Interval held = x.box[static_cast<size_t>(position(x.type.dims, dim.name))];
  plan.origin = held.begin;
  plan.bounds = {0, held.size()};
  if (site.attributes.has("parts"))
    plan.bounds = part_bounds(dim.size, site.attributes.get<Dim>("parts").size, held,
                              result.box[result.box.size() - 2]);
  plan.ranks = result.box.back();
  for (size_t p = 0; p + 1 < plan.bounds.size(); ++p)
    check_invariant(plan.bounds[p + 1] - plan.bounds[p] >= plan.ranks.end, "a part of a top_k is short");
  plan.elements = x.elements();
  return plan;
}

/// One row of the operand; elements are named by their offset along the dimension.
template <typename T>
struct Row {
  const T* x;
  int64_t stride;

  T value(int64_t place) const { return x[place * stride]; }
  /// Returns whether the element at `a` ranks before the one at `b`.
  bool operator()(int64_t a, int64_t b) const {
    const T va = value(a), vb = value(b);
    const bool no_number = va != va, other = vb != vb;
    if (no_number != other) return no_number;
    if (!no_number && va != vb) return va > vb;
    return a < b;
  }
};

/// Writes the offsets of the first elements by rank, as many as `best` holds. A heap keeps them with the
/// last-ranked one on top.
template <typename T>
void rank_first(const Row<T>& row, Interval places, std::span<int32_t> best) {
  if (best.empty()) return;
  const int64_t kept = static_cast<int64_t>(best.size());
  for (size_t i = 0; i < best.size(); ++i)
    best[i] = static_cast<int32_t>(places.begin) + static_cast<int32_t>(i);
  std::make_heap(best.begin(), best.end(), row);
  for (int64_t place = places.begin + kept; place < places.end; ++place) {
    if (!row(place, best[0])) continue;
    std::pop_heap(best.begin(), best.end(), row);
    best.back() = static_cast<int32_t>(place);
    std::push_heap(best.begin(), best.end(), row);
  }
  std::sort_heap(best.begin(), best.end(), row);
}

template <typename T>
void top(const TopPlan& plan, const KernelRun& run, std::span<int32_t> best, int64_t begin, int64_t end) {
  const T* x = reinterpret_cast<const T*>(run.operands[0]);
  const int64_t parts = static_cast<int64_t>(plan.bounds.size()) - 1;
  T* values = reinterpret_cast<T*>(run.results[0]) + begin * parts * plan.ranks.size();
  auto* indices = reinterpret_cast<int32_t*>(run.results[1]) + begin * parts * plan.ranks.size();
  NestCursor at(plan.rows, plan.rows.loops(), begin);
  for (int64_t i = begin; i < end; ++i, at.next()) {
    const Row<T> row{x + at.offset(0), plan.stride};
    for (size_t p = 0; p + 1 < plan.bounds.size(); ++p) {
      rank_first(row, {plan.bounds[p], plan.bounds[p + 1]}, best);
      for (int64_t rank = plan.ranks.begin; rank < plan.ranks.end; ++rank) {
        const int32_t place = best[static_cast<size_t>(rank)];
        *values++ = row.value(place);
        *indices++ = static_cast<int32_t>(plan.origin + place);
      }
    }
  }
}

template <typename T>
Kernel prepare(const KernelSite& site) {
  const TopPlan plan = plan_top(site);
  const auto wanted = static_cast<size_t>(plan.ranks.end);
  const auto threads = static_cast<size_t>(thread_count());
  const auto scratch = std::make_shared<std::vector<int32_t>>(wanted * threads);
  return [plan, wanted, scratch](const KernelRun& run) {
    parallel_ranges(plan.row_count, plan.elements, [&](int64_t begin, int64_t end) {
      if (begin >= end) return;
      const auto thread = static_cast<size_t>(thread_number());
      top<T>(plan, run, {scratch->data() + thread * wanted, wanted}, begin, end);
    });
    return plan.elements;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        prepare_typed(WideNumbers{}, []<typename T>(const KernelSite& site) { return prepare<T>(site); }),
};

}  // namespace mtfc::top_k_kernel
