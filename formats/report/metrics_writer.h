#pragma once
// The log of a run: one JSON object per line.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mtfc {

/// `{"step": 1, "loss": 2.3, "step_time": 0.01, "samples_per_second": 10000}`, without a newline. Numbers
/// that JSON lacks become null.
std::string metrics_line(int64_t step, const std::vector<std::pair<std::string, double>>& outputs,
                         double step_seconds, double samples_per_second);

/// The step of such a line; nullopt for any other text.
std::optional<int64_t> metrics_step(const std::string& line);

}  // namespace mtfc
