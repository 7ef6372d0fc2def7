#pragma once
// For tests: what commands in the folder of the models have written to files.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"

namespace mtfc {

/// The exit code and the standard output of `mtfc COMMAND` in the folder of the bundled models, run in this process: a
/// process of its own takes longer to start than most figures take to compute. For commands that compile and start no ranks.
/// Spaces separate the words, except between single quotes. Warnings go to the test's own standard error.
Outcome outcome_here(const std::string& command);

/// The report of `mtfc cost-report MODEL OPTIONS`.
nlohmann::json report_of(const std::string& model, const std::string& options);

/// The losses of four steps of `mtfc run RUN`, in which `run` is a model with options.
std::vector<double> losses_of(const std::string& run);

}  // namespace mtfc
