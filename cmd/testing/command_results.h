#pragma once
// For tests: what commands in the folder of the models have written to files.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mtfc {

/// The report of `mtfc cost-report MODEL OPTIONS`.
nlohmann::json report_of(const std::string& model, const std::string& options);

/// The losses of four steps of `mtfc run RUN`, in which `run` is a model with options.
std::vector<double> losses_of(const std::string& run);

}  // namespace mtfc
