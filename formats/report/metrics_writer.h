#pragma once
// The log of a run: one JSON object per line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mtfc {

/// A number of a run: exact if it is a truth value or a whole number of the model, and else a double, which may be
/// infinite or NaN.
using RunNumber = std::variant<bool, int64_t, double>;
double to_double(const RunNumber& number);
using NamedNumber = std::pair<std::string, RunNumber>;

/// The figures of one step of a run beside its outputs. An evaluation over data has no rates but samples per second.
struct StepFigures {
  double step_time = 0;  // seconds
  double samples_per_second = 0;
  std::optional<double> learning_rate;  // that the step was made with
  std::optional<double> tokens_per_second;
  std::optional<double> mfu;  // useful products at the peak rate of all devices, over the time of the step
  double wall_time = 0;       // seconds since the process began
};

/// These figures under their names, in the order of a line.
std::vector<NamedNumber> named(const StepFigures& figures);

/// `{"step": 1, "loss": 2.3, "step_time": 0.01, "samples_per_second": 10000, ...}`, without a newline. Numbers
/// that JSON lacks become null, and truth values 0 and 1.
std::string metrics_line(int64_t step, const std::vector<NamedNumber>& outputs, const StepFigures& figures);

/// True of the keys of such a line beside the outputs, which can't have these names.
bool is_metrics_key(std::string_view name);
/// The JSON Schema of such a line.
std::string metrics_schema();
/// Stands before the names of outputs that are means over held-out data.
inline constexpr std::string_view kHeldOutPrefix = "valid/";

/// True if `text` may be the beginning of such a line, as a run that is killed leaves it.
bool begins_metrics(const std::string& text);

/// The step of such a line; nullopt for any other text.
std::optional<int64_t> metrics_step(const std::string& line);

}  // namespace mtfc
