#include "cmd/running/finite_numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "cmd/running/checkpoints.h"
#include "cmd/running/run_data.h"
#include "cmd/running/stop_agreement.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/printable.h"
#include "runtime/execute/finite_check.h"

namespace mtfc {
namespace {

// The norm of all gradients, where the model reports it.
constexpr std::string_view kGradientNorm = "train/grad_norm";
// A search for the operation repeats steps that took at most this long.
constexpr double kLongestSearch = 60;
constexpr double kWorthSaying = 1;

int64_t milliseconds(double seconds) {
  return static_cast<int64_t>(seconds * 1e3);
}

}  // namespace

FiniteNumbers::FiniteNumbers(Executor& executor, const RunOptions& options, int64_t first_step)
    : executor_(executor), options_(options), known_step_(first_step), from_checkpoint_(first_step > 0) {}

bool FiniteNumbers::is_watched() const {
  return !options_.nan_ok && !executor_.program().loss.empty();
}

std::string FiniteNumbers::problem_of(const std::vector<NamedNumber>& outputs, double seconds) {
  seconds_ += seconds;
  if (!is_watched()) return "";
  const std::string& loss = executor_.program().loss;
  for (const auto& [name, value] : outputs) {
    const double number = to_double(value);
    if (std::isfinite(number) || (name != loss && name != kGradientNorm)) continue;
    return fmt::format("{}'{}' is {}", name == loss ? "the loss " : "", name, number_text(number));
  }
  return "";
}

std::string FiniteNumbers::problem_of_variables() const {
  if (!is_watched()) return "";
  Processes& processes = executor_.comm().processes();
  const std::string own = not_finite_variable(executor_);
  // All ranks get the text of the first one that has a problem.
  if (processes.maximum(own.empty() ? 0 : 1) == 0) return "";
  std::string text;
  for (const std::string& problem : processes.gather(own))
    if (text.empty()) text = problem;
  processes.broadcast(text);
  return text;
}

void FiniteNumbers::saved(int64_t step) {
  known_step_ = step;
  from_checkpoint_ = true;
  seconds_ = 0;
}

std::string FiniteNumbers::known_state() const {
  return from_checkpoint_ ? checkpoint_path(options_.checkpoint, known_step_) : "";
}

void FiniteNumbers::restore() {
  const Program& program = executor_.program();
  WeightGaps ignored;
  const VariableValues values = from_checkpoint_ ? read_checkpoint(program, known_state()).values
                                                 : read_loads(program, options_, ignored);
  if (values.size() < program.variables.size()) executor_.run(*program.find("init"), 0);
  fill_variables(executor_, values);
}

// Throws where a value is not finite; returns where none is.
void FiniteNumbers::repeat_steps(const std::string& problem, int64_t step, Feed& feed) {
  restore();
  const std::string begun_with = problem_of_variables();
  if (!begun_with.empty())
    throw AgreedError(fmt::format("{}; it began with a value that is not finite: {}", problem, begun_with));
  const EntryPoint& train = *executor_.program().find("train");
  StopAgreement agreement(executor_.comm().processes());
  executor_.check_finite();
  for (int64_t s = known_step_; s < step; ++s) {
    feed.fill_training(s);
    try {
      executor_.run(train, s);
    } catch (const RunError& error) {
      throw RunError(
          fmt::format("{}; the first value that is not finite: {}{}", problem, error.what(), hint(false)));
    }
    if (agreement.after_step().signal != 0) return;
  }
}

std::string FiniteNumbers::hint(bool not_found) const {
  return fmt::format(" ({}{}--nan-ok goes on all the same)",
                     from_checkpoint_ ? fmt::format("the last checkpoint is '{}'; ", known_state()) : "",
                     not_found ? "--check-finite names the operation; " : "");
}

void FiniteNumbers::fail(const std::string& problem, int64_t step, Feed& feed) {
  executor_.record(nullptr);
  Processes& processes = executor_.comm().processes();
  const std::string what = fmt::format("{} at step {}", problem, step);
  const double seconds = static_cast<double>(processes.maximum(milliseconds(seconds_))) * 1e-3;
  if (seconds <= kLongestSearch) {
    if (seconds > kWorthSaying && processes.is_root() && !options_.model.quiet)
      std::cerr << fmt::format(
          "{}: repeating {} to find the operation\n", what,
          step - known_step_ == 1 ? "this step" : fmt::format("{} steps", step - known_step_));
    repeat_steps(what, step, feed);
  }
  throw AgreedError(what + hint(true));
}

}  // namespace mtfc
