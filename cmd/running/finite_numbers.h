#pragma once
// Stops a training whose numbers are not finite any more, and looks for the operation that made the first of them.
//
//   FiniteNumbers numbers(executor, options, first_step);
//   problem = numbers.problem_of(outputs, seconds);  // after each step
//   problem = numbers.problem_of_variables();        // before anything is saved
//   if (!problem.empty()) numbers.fail(problem, step, feed);
//   numbers.saved(step);                             // a search may begin at this checkpoint
//
// The search repeats the steps since the last state that is known, a checkpoint or the values that the run began
// with, with a check of every result. It therefore sees the variables of before each step.

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/running/run_options.h"
#include "cmd/terminal/progress.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"

namespace mtfc {

class FiniteNumbers {
 public:
  /// The run begins after `first_step` steps: at a checkpoint of options.checkpoint, unless this is 0. All must
  /// outlive it.
  FiniteNumbers(Executor& executor, const RunOptions& options, int64_t first_step);

  /// Looks at the outputs of the training step after which `step` steps are done; it took `seconds`. Returns a
  /// description of the loss or of train/grad_norm if it is not finite, and "" otherwise. It is the same on all ranks.
  std::string problem_of(const std::vector<NamedNumber>& outputs, double seconds);
  /// The same for the variables. Every rank must call it.
  std::string problem_of_variables() const;
  /// The run has saved a checkpoint of `step`.
  void saved(int64_t step);

  /// Ends a run with this problem after `step` steps: throws RunError, with the operation that made the first value
  /// that is not finite if it can be found soon. Every rank must call it.
  [[noreturn]] void fail(const std::string& problem, int64_t step, Feed& feed);

 private:
  bool is_watched() const;
  std::string known_state() const;
  void restore();
  std::string hint(bool not_found) const;
  void repeat_steps(const std::string& problem, int64_t step, Feed& feed);

  Executor& executor_;
  const RunOptions& options_;
  int64_t known_step_;    // of the last state that is known
  bool from_checkpoint_;  // it is a checkpoint of this step
  double seconds_ = 0;    // taken by the steps since
};

}  // namespace mtfc
