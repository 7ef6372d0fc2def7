#include "cmd/running/evaluation.h"

#include "cmd/running/run_outputs.h"

namespace mtfc {
namespace {

Feed evaluation_feed(Executor& executor, const EvaluationData& data) {
  const EntryPoint& entry = *executor.program().find("evaluate");
  executor.load(entry);
  Feed feed(executor, entry, data.inputs, data.seed, data.fills_up);
  feed.require_whole_batch();
  return feed;
}

// The means of numbers over batches. A whole number that is the same in every batch stays exact.
class Means {
 public:
  void add(const std::vector<NamedNumber>& batch, double weight) {
    if (first_.empty()) first_ = batch, sums_.resize(batch.size()), differs_.resize(batch.size());
    weights_ += weight;
    for (size_t i = 0; i < batch.size(); ++i) {
      sums_[i] += weight * to_double(batch[i].second);
      differs_[i] = differs_[i] || batch[i].second != first_[i].second;
    }
  }
  std::vector<NamedNumber> found() const {
    std::vector<NamedNumber> means = first_;
    for (size_t i = 0; i < means.size(); ++i)
      if (differs_[i] || std::holds_alternative<double>(means[i].second))
        means[i].second = sums_[i] / weights_;
    return means;
  }

 private:
  std::vector<NamedNumber> first_;
  std::vector<double> sums_;
  std::vector<bool> differs_;
  double weights_ = 0;
};

}  // namespace

Evaluation evaluate(Executor& executor, const EvaluationData& data, const BatchObserver& observer,
                    const std::function<bool()>& stops) {
  const EntryPoint& entry = *executor.program().find("evaluate");
  Feed feed = evaluation_feed(executor, data);
  const int64_t batches = feed.evaluation_batches().value_or(1);
  Evaluation evaluation{{}, feed.batch(), 0, feed.rows_left_out(), {}, false};
  Means means;
  for (int64_t batch = 0; batch < batches && !evaluation.is_stopped; ++batch) {
    const RunClock clock;
    feed.fill_evaluation(batch);
    const double filled = clock.seconds();
    run_fed(executor, entry, feed, batch, false);
    evaluation.times.push_back({filled, clock.seconds()});
    const std::vector<NamedNumber> found = output_numbers(executor, entry);
    if (observer) observer(feed, batch);
    means.add(found, static_cast<double>(feed.rows_present(batch)) / static_cast<double>(feed.batch()));
    evaluation.rows += feed.rows_present(batch);
    evaluation.is_stopped = batch + 1 < batches && stops && stops();
  }
  evaluation.means = means.found();
  return evaluation;
}

void require_evaluable(Executor& executor, const EvaluationData& data) {
  evaluation_feed(executor, data);
}

}  // namespace mtfc
