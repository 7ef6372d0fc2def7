#include "cmd/testing/command_results.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "cmd/command.h"
#include "cmd/terminal/error_text.h"
#include "core/diagnostics/error.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc {

namespace {

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  bool quoted = false, inside = false;
  for (const char c : command) {
    if (c == ' ' && !quoted) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == '\'')
      quoted = !quoted;
    else
      words.back() += c;
  }
  return words;
}

}  // namespace

Outcome outcome_here(const std::string& command) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(kSourceFolder) / "models");
  std::ostringstream said;
  std::streambuf* const usual = std::cout.rdbuf(said.rdbuf());
  Outcome outcome;
  try {
    outcome.code = run_command_line(words_of(command));
  } catch (const std::exception& error) {
    outcome.code = exit_code(error);
    show_error(error);
  }
  std::cout.rdbuf(usual);
  std::filesystem::current_path(before);
  outcome.text = said.str();
  return outcome;
}

nlohmann::json report_of(const std::string& model, const std::string& options) {
  const Outcome made = outcome_here(fmt::format("cost-report {} {} -q --format json", model, options));
  REQUIRE(made.code == 0);
  return nlohmann::json::parse(made.text)["layouts"][0];
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
