#include "formats/report/runs_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "formats/report/metrics_writer.h"
#include "formats/report/run_summary.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

// Two numbers with three digits, or with as many as tell them apart.
std::pair<std::string, std::string> texts_of(double a, double b) {
  std::string first, second;
  for (int digits = 3; digits <= 9; ++digits) {
    first = fmt::format("{:.{}g}", a, digits);
    second = fmt::format("{:.{}g}", b, digits);
    if (first != second || a == b) break;
  }
  return {first, second};
}

std::string text_of(double number) {
  return fmt::format("{:.3g}", number);
}

// Without any number, its `steps` are 0.
MetricSummary loss_of(const MetricsLog& log, const std::string& prefix = "") {
  const MetricsColumn* column = log.find(prefix + "loss");
  return column ? summary_of(log, *column) : MetricSummary{};
}

// The seconds of a step: the mean of the steps but for the first of each process, as a run states it at its end; of a
// single step, its time.
std::optional<double> step_seconds(const MetricsLog& log) {
  const MetricsColumn *column = log.find("step_time"), *wall = log.find("wall_time");
  if (!column) return std::nullopt;
  double sum = 0;
  int64_t count = 0;
  for (size_t i = 0; i < column->values.size(); ++i) {
    // The clock of another process starts again.
    const bool is_first = i == 0 || (wall && wall->values[i] < wall->values[i - 1]);
    if (!std::isfinite(column->values[i]) || (is_first && column->values.size() > 1)) continue;
    sum += column->values[i];
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

int64_t last_step(const MetricsLog& log) {
  return log.steps.back();
}

// `in 300 steps, 1.90 ms each`; a run that went on with another one has `in the steps 101 to 300`.
std::string duration_of(const MetricsLog& log) {
  const bool is_whole = log.steps.front() <= 1;
  std::string text =
      is_whole ? "in " + counted(last_step(log), "step")
               : fmt::format("in the steps {} to {}", grouped(log.steps.front()), grouped(last_step(log)));
  if (const auto seconds = step_seconds(log)) text += fmt::format(", {} each", seconds_text(*seconds));
  return text;
}

// How the loss changed over the steps that have a finite one, in words.
std::string change_text(const MetricSummary& loss) {
  if (loss.steps == 1)
    return fmt::format("was {} at step {},", text_of(loss.first), grouped(loss.first_step));
  if (loss.first == loss.last) return fmt::format("was {} at first and at last,", text_of(loss.last));
  const auto [first, last] = texts_of(loss.first, loss.last);
  return fmt::format("{} from {} to {}", loss.last < loss.first ? "fell" : "rose", first, last);
}

std::string validation_text(const MetricsLog& log) {
  const MetricSummary valid = loss_of(log, std::string(kHeldOutPrefix));
  if (valid.steps == 0) return "";
  const auto [least, last] = texts_of(valid.least, valid.last);
  if (valid.steps == 1)
    return fmt::format("; the validation loss was {} at step {}", last, grouped(valid.last_step));
  const std::string end =
      valid.last_step == last_step(log) ? "at the end" : fmt::format("at step {}", grouped(valid.last_step));
  if (valid.least == valid.last)
    return fmt::format("; the validation loss was least {} ({}){}", end, last,
                       valid.last_step == last_step(log) ? "" : ", where it was last measured");
  return fmt::format("; the validation loss was least at step {} ({}), and {} {}", grouped(valid.least_step),
                     least, last, end);
}

// Says from which step on the loss is not finite, or in how many steps it is not.
std::string missing_text(const MetricsLog& log, const MetricSummary& loss) {
  if (loss.last_step < last_step(log)) {
    const auto next = std::upper_bound(log.steps.begin(), log.steps.end(), loss.last_step);
    return fmt::format("; from step {} on it is no finite number", grouped(*next));
  }
  const auto missing = static_cast<int64_t>(log.steps.size()) - loss.steps;
  return missing == 0 ? "" : fmt::format("; in {} it is no finite number", counted(missing, "step"));
}

std::string verdict_of(const MetricsLog& log) {
  const bool is_evaluation = log.steps.size() == 1 && log.steps.front() == 0;
  if (!log.find("loss"))
    return is_evaluation ? "The evaluation has no loss."
                         : fmt::format("The run logged no loss {}.", duration_of(log));
  const MetricSummary loss = loss_of(log);
  if (is_evaluation)
    return loss.steps == 1 ? fmt::format("The loss of the evaluation is {}.", text_of(loss.last))
                           : "The loss of the evaluation is no finite number.";
  if (loss.steps == 0) return fmt::format("The loss is no finite number {}.", duration_of(log));
  if (log.steps.size() == 1) {
    const auto seconds = step_seconds(log);
    return fmt::format("The loss was {} at step {}{}.", text_of(loss.last), grouped(last_step(log)),
                       seconds ? ", which took " + seconds_text(*seconds) : "");
  }
  std::string text = fmt::format("The loss {} {}", change_text(loss), duration_of(log));
  text += missing_text(log, loss);
  if (loss.last > loss.first && loss.least < loss.first)
    text += fmt::format("; it was least at step {} ({})", grouped(loss.least_step), text_of(loss.least));
  return text + validation_text(log) + ".";
}

// A figure of one of the runs.
struct RunFigure {
  size_t run;
  double value;
};

// Returns the runs that have the figure. The run with the least figure comes first.
template <typename Figure>
std::vector<RunFigure> ordered(const RunsReport& report, Figure figure) {
  std::vector<RunFigure> found;
  for (size_t run = 0; run < report.logs.size(); ++run)
    if (const std::optional<double> value = figure(report.logs[run])) found.push_back({run, *value});
  std::stable_sort(found.begin(), found.end(),
                   [](const RunFigure& a, const RunFigure& b) { return a.value < b.value; });
  return found;
}

// The loss of the last step, if that is finite.
std::optional<double> last_loss(const MetricsLog& log) {
  const MetricSummary loss = loss_of(log);
  return loss.steps > 0 && loss.last_step == last_step(log) ? std::optional(loss.last) : std::nullopt;
}

bool have_loss(const RunsReport& report) {
  return std::any_of(report.logs.begin(), report.logs.end(),
                     [](const MetricsLog& log) { return log.find("loss") != nullptr; });
}

// `a.jsonl ends with the lower loss, 0.197 against 0.24, after 120 steps each`. `losses`: those that are finite, the
// least first.
std::string losses_text(const RunsReport& report, const std::vector<RunFigure>& losses) {
  const bool is_pair = report.logs.size() == 2;
  if (losses.empty() && !have_loss(report)) return "The logs have no loss";
  if (losses.empty())
    return is_pair ? "Neither run ends with a finite loss" : "No run ends with a finite loss";
  const MetricsLog& best = report.logs[losses[0].run];
  const std::string steps = counted(last_step(best), "step");
  if (losses.size() == 1)
    return fmt::format("Only {} ends with a finite loss, {} after {}", best.file, text_of(losses[0].value),
                       steps);
  const MetricsLog& next = report.logs[losses[1].run];
  const auto [lower, higher] = texts_of(losses[0].value, losses[1].value);
  const bool is_tie = losses[0].value == losses[1].value, is_alike = last_step(best) == last_step(next);
  const std::string other = counted(last_step(next), "step");
  if (is_tie)
    return fmt::format("{} and {} end with the same loss, {} after {}", best.file, next.file, lower,
                       is_alike ? steps + " each" : steps + " and " + other);
  if (!is_pair)
    return fmt::format("{} ends with the lowest loss of the {} runs, {} after {}", best.file,
                       report.logs.size(), lower, steps);
  const std::string head = fmt::format("{} ends with the lower loss, {}", best.file, lower);
  return is_alike ? fmt::format("{} against {}, after {} each", head, higher, steps)
                  : fmt::format("{} after {} against {} after {}", head, steps, higher, other);
}

// `b.jsonl is faster, 1.90 ms a step against 2.40 ms`
std::string speeds_text(const RunsReport& report, const std::string& least_loss) {
  constexpr double kAlike = 0.01;
  const std::vector<RunFigure> times = ordered(report, step_seconds);
  if (times.size() < report.logs.size()) return "";
  const bool is_pair = times.size() == 2;
  const double least = times.front().value, most = times.back().value;
  if (most <= (1 + kAlike) * least)
    return fmt::format("; a step of {} takes {}", is_pair ? "both" : "each", seconds_text(least));
  const std::string& file = report.logs[times.front().run].file;
  const bool is_best = file == least_loss;
  return fmt::format("; {} is {}{}, {} a step against {}{}", is_best ? "it" : file, is_best ? "also " : "",
                     is_pair ? "faster" : "the fastest", seconds_text(least), is_pair ? "" : "at most ",
                     seconds_text(most));
}

bool is_of_one_model(const RunsReport& report) {
  return std::all_of(report.measured.begin(), report.measured.end(),
                     [&](const ReportedRun& run) { return run.model == report.measured.front().model; });
}

}  // namespace

std::string runs_verdict(const RunsReport& report) {
  if (report.logs.size() == 1) return verdict_of(report.logs.front());
  const std::vector<RunFigure> losses = ordered(report, last_loss);
  const bool has_least = !losses.empty() && (losses.size() == 1 || losses[0].value < losses[1].value);
  const std::string text = losses_text(report, losses) +
                           speeds_text(report, has_least ? report.logs[losses.front().run].file : "");
  return text + (is_of_one_model(report) ? "." : "; losses of different models do not compare.");
}

std::string mfu_note(const MetricsLog& log) {
  const MetricsColumn* column = log.find("mfu");
  if (!column) return "";
  const auto above = std::count_if(column->values.begin(), column->values.end(),
                                   [](double share) { return std::isfinite(share) && share > 1; });
  if (above == 0) return "";
  return fmt::format(
      "MFU not known: it is above 100 % in {} of {}, so the peak rate of the profile is lower than what the "
      "machine does",
      grouped(above), counted(summary_of(log, *column).steps, "step"));
}

}  // namespace mtfc
