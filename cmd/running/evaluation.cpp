#include "cmd/running/evaluation.h"

#include <fmt/format.h>

#include "cmd/running/run_outputs.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

Feed evaluation_feed(Executor& executor, const std::vector<InputData>& data, uint64_t seed) {
  const EntryPoint& entry = *executor.program().find("evaluate");
  executor.load(entry);
  Feed feed(executor, entry, data, seed);
  if (feed.evaluation_batches() == 0)
    throw RunError(fmt::format("the data to evaluate has too few rows for one batch of {}", feed.batch()));
  return feed;
}

}  // namespace

Evaluation evaluate(Executor& executor, const std::vector<InputData>& data, uint64_t seed,
                    const BatchObserver& observer, const std::function<bool()>& stops) {
  const EntryPoint& entry = *executor.program().find("evaluate");
  Feed feed = evaluation_feed(executor, data, seed);
  const int64_t batches = feed.evaluation_batches().value_or(1);
  Evaluation evaluation{{}, feed.batch(), feed.rows_left_out(), {}, false};
  std::vector<NamedNumber>& sums = evaluation.means;
  double weights = 0;
  for (int64_t batch = 0; batch < batches && !evaluation.is_stopped; ++batch) {
    const RunClock clock;
    feed.fill_evaluation(batch);
    const double filled = clock.seconds();
    executor.run(entry, batch);
    evaluation.times.push_back({filled, clock.seconds()});
    const std::vector<NamedNumber> found = output_numbers(executor, entry);
    if (observer) observer(feed, batch);
    if (batch == 0) sums.resize(found.size());
    const double weight = static_cast<double>(feed.rows_present(batch)) / static_cast<double>(feed.batch());
    weights += weight;
    for (size_t i = 0; i < found.size(); ++i)
      sums[i] = {found[i].first, sums[i].second + weight * found[i].second};
    evaluation.is_stopped = batch + 1 < batches && stops && stops();
  }
  for (NamedNumber& sum : sums) sum.second /= weights;
  return evaluation;
}

void require_evaluable(Executor& executor, const std::vector<InputData>& data, uint64_t seed) {
  evaluation_feed(executor, data, seed);
}

}  // namespace mtfc
