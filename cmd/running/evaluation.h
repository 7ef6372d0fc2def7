#pragma once
// Evaluates a model over data: the means of its outputs over all batches, for --evaluate and for --valid.

#include <cstdint>
#include <functional>
#include <vector>

#include "cmd/running/run_times.h"
#include "cmd/terminal/progress.h"
#include "core/tensors/data.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"

namespace mtfc {

struct Evaluation {
  std::vector<NamedNumber> means;  // of the outputs that are single numbers
  int64_t batch = 1;               // rows
  int64_t rows = 0;                // of all batches together, without padding
  int64_t rows_left_out = 0;       // which do not make a whole batch
  std::vector<RunTime> times;      // of each batch
  bool is_stopped = false;         // some batches are missing
};

/// The data of an evaluation. With `fills_up`, no row is left out (Feed).
struct EvaluationData {
  const std::vector<InputData>& inputs;
  uint64_t seed = 0;
  bool fills_up = false;
};

/// Called after each batch of an evaluation, while its outputs are in memory.
using BatchObserver = std::function<void(const Feed& feed, int64_t batch)>;

/// Evaluates the program of `executor` over the whole of a finite source, or over one batch of an endless one. A
/// batch counts by the rows that are present in it. Every rank must call it. Throws RunError for data that doesn't
/// fit or is less than a batch. `stops` is asked after every batch, and must answer alike on all ranks.
Evaluation evaluate(Executor& executor, const EvaluationData& data, const BatchObserver& observer = nullptr,
                    const std::function<bool()>& stops = nullptr);

/// Makes ready for evaluate() and throws what it would throw for such data.
void require_evaluable(Executor& executor, const EvaluationData& data);

}  // namespace mtfc
