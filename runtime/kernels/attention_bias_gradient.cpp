#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "runtime/compute/attention_backward.h"
#include "runtime/compute/attention_terms.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/prepare_typed.h"

namespace mtfc::attention_bias_gradient_kernel {
namespace {

constexpr int64_t kRows = AttentionPlan::kTileQueries, kColumns = AttentionPlan::kTilePositions;

/// Tiles that add to elements of the result to which no other task adds.
struct Task {
  std::vector<int64_t> batch;
  Interval rows;
};

struct Backward : BackwardPlan {
  VectorPlaces result;
  std::vector<Task> tasks;
};

/// Positions of the batch that share elements of the bias are one task. Where every query has elements of its own, so
/// are the queries of each tile.
std::vector<Task> tasks_of(const AttentionPlan& plan, const VectorPlaces& result, const Dims& bias) {
  std::map<int64_t, std::vector<int64_t>> by_place;
  for (int64_t b = 0; b < plan.batch; ++b) by_place[result.batch[static_cast<size_t>(b)]].push_back(b);
  const Dims& queries = plan.dims().queries;
  const bool apart =
      std::all_of(queries.begin(), queries.end(), [&](const Dim& dim) { return contains(bias, dim.name); });
  const int64_t step = apart ? kRows : std::max<int64_t>(1, plan.queries);
  std::vector<Task> tasks;
  for (const auto& [place, batch] : by_place)
    for (int64_t row = 0; row < plan.queries; row += step)
      tasks.push_back({batch, {row, std::min(plan.queries, row + step)}});
  return tasks;
}

template <typename T>
void add_gradients(const Backward& w, const KernelRun& run, int64_t b, Interval rows, BackwardTile<T>& tile) {
  tile.begin(run, b, rows);
  const Interval seen = w.plan.seen_by(rows);
  for (int64_t begin = seen.begin; begin < seen.end; begin += kColumns) {
    const Interval columns = {begin, std::min(seen.end, begin + kColumns)};
    tile.compute(columns);
    const T* from = tile.gradients();
    for (int64_t row = rows.begin; row < rows.end; ++row, from += kColumns) {
      T* const to = reinterpret_cast<T*>(run.results[0]) + w.result.at(b, row) + begin * w.result.step;
      for (int64_t c = 0; c < columns.size(); ++c) to[c * w.result.step] += from[c];
    }
  }
}

template <typename T>
Kernel prepare(const KernelSite& site) {
  const BackwardPlan plan(site);
  const VectorPlaces result = plan.plan.of_scores(site.results[0]);
  const auto w = std::make_shared<const Backward>(
      Backward{plan, result, tasks_of(plan.plan, result, site.results[0].type.dims)});
  const std::vector<LocalType> operands = local_types(site.operands);
  const AttentionSizes counted = attention_sizes({site.attributes, operands});
  const int64_t flops = 2 * counted.pairs() * (w->q.width + w->v.width);
  const int64_t bytes = site.results[0].elements() * size_of(site.results[0].type.dtype);
  const auto tiles = std::make_shared<std::vector<BackwardTile<T>>>(static_cast<size_t>(thread_count()),
                                                                    BackwardTile<T>(*w));
  return [w, flops, bytes, tiles](const KernelRun& run) {
    if (bytes > 0) std::memset(run.results[0], 0, static_cast<size_t>(bytes));
    parallel_ranges(static_cast<int64_t>(w->tasks.size()), flops, [&](int64_t begin, int64_t end) {
      BackwardTile<T>& own = (*tiles)[static_cast<size_t>(thread_number())];
      for (int64_t i = begin; i < end; ++i) {
        const Task& task = w->tasks[static_cast<size_t>(i)];
        for (const int64_t b : task.batch)
          for (int64_t row = task.rows.begin; row < task.rows.end; row += kRows)
            add_gradients<T>(*w, run, b, {row, std::min(task.rows.end, row + kRows)}, own);
      }
    });
    return flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        prepare_typed(WideFloats{}, []<typename T>(const KernelSite& site) { return prepare<T>(site); }),
    .terms = attention_bias_gradient_terms,
};

}  // namespace mtfc::attention_bias_gradient_kernel
