#include "cmd/testing/command_results.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sstream>

#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"

namespace mtfc {

nlohmann::json report_of(const std::string& model, const std::string& options) {
  const ScratchFolder folder;
  const std::string made = outcome_in_models(
      fmt::format("$MTFC cost-report {} {} -q -o '{}'", model, options, folder / "report.json"));
  CHECK(made == "exit 0: ");
  return nlohmann::json::parse(folder.read("report.json"))["layouts"][0];
}

std::vector<double> losses_of(const std::string& run) {
  const ScratchFolder folder;
  const std::string ran =
      outcome_in_models(fmt::format("$MTFC run {} --steps 4 -q --metrics '{}'", run, folder / "log"));
  CHECK(ran == "exit 0: ");
  std::vector<double> losses;
  std::istringstream lines(folder.read("log"));
  for (std::string line; std::getline(lines, line);)
    losses.push_back(nlohmann::json::parse(line)["loss"].get<double>());
  CHECK(losses.size() == 4);
  return losses;
}

}  // namespace mtfc
