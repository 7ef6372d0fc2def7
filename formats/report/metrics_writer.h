#pragma once
// The log of a run: one JSON object per line.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mtfc {

/// `{"step": 1, "loss": 2.3, "step_time": 0.01, "samples_per_second": 10000}`, without a newline. Numbers
/// that JSON lacks become null.
std::string metrics_line(int64_t step, const std::vector<std::pair<std::string, double>>& outputs,
                         double step_seconds, double samples_per_second);

/// The keys of such a line beside the outputs, which can't have these names.
inline constexpr std::array<std::string_view, 3> kMetricsKeys = {"step", "step_time", "samples_per_second"};

/// True if `text` may be the beginning of such a line, as a run that is killed leaves it.
bool begins_metrics(const std::string& text);

/// The step of such a line; nullopt for any other text.
std::optional<int64_t> metrics_step(const std::string& line);

}  // namespace mtfc
