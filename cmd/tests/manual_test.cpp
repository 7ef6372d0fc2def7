// Topics of help and man pages: they fit, troff has nothing to complain of, and what they say is true.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"

namespace mtfc::manual_test {
namespace {

constexpr const char* kTopics[] = {"model", "layout",      "data",      "hardware",
                                   "rows",  "environment", "exit-codes"};

std::string page(const std::string& arguments, int width = 80) {
  const auto [code, text] =
      outcome_of(fmt::format("COLUMNS={} '{}' {} 2>&1 </dev/null", width, kTestedProgram, arguments));
  CHECK(code == 0);
  return text;
}

std::set<std::string> found_in(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    found.insert((*at)[1].str());
  return found;
}

// Every option of every command.
std::set<std::string> all_options() {
  std::set<std::string> options;
  for (const char* command :
       {"calibrate", "check", "compile", "completion", "cost-report", "explain", "generate", "help", "man",
        "ops", "predict", "run", "schema", "search", "slurm", "validate", "verify"})
    options.merge(found_in(page(fmt::format("{} --help", command)), "\n  (?:-[a-z],)?(--[a-z-]+)"));
  return options;
}

// The JSON in the lines of a page that are indented by two.
std::vector<std::string> json_in(const std::string& text) {
  std::vector<std::string> found;
  bool inside = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  {")) found.emplace_back();
    inside = line.starts_with("  {") || (inside && line.starts_with("  "));
    if (inside) found.back() += line + "\n";
  }
  return found;
}

bool has_groff() {
  if (outcome_of("command -v groff").code == 0) return true;
  skip_without("groff", "man pages are not formatted");
  return false;
}

}  // namespace

TEST_CASE("topics are listed, fit on the terminal, and name options that exist") {
  const std::set<std::string> options = all_options();
  REQUIRE(options.size() > 60);
  const std::string list = page("help");
  for (const char* topic : kTopics) {
    CAPTURE(topic);
    CHECK(list.find(fmt::format("\n  {} ", topic)) != std::string::npos);
    for (const size_t width : {size_t{60}, size_t{80}, size_t{120}}) {
      std::istringstream lines(page(fmt::format("help {}", topic), static_cast<int>(width)));
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(line.size() <= width);
      }
    }
    for (const std::string& option : found_in(page(fmt::format("help {}", topic)), "(--[a-z][a-z-]*)")) {
      CAPTURE(option);
      CHECK((options.count(option) == 1 || option == "--mpi"));  // --mpi belongs to srun
    }
  }
}

TEST_CASE("help that there is not") {
  CHECK(outcome_in_models("$MTFC help layuot") ==
        "exit 2: mtfc: error: there is no command and no topic 'layuot' (did you mean 'layout'?)\n");
  CHECK(outcome_in_models("$MTFC help explian") ==
        "exit 2: mtfc: error: there is no command and no topic 'explian' (did you mean 'explain'?)\n");
  CHECK(outcome_in_models("$MTFC help lay") ==
        "exit 2: mtfc: error: there is no command and no topic 'lay' (did you mean 'layout'?)\n");
  CHECK(outcome_in_models("$MTFC help zero") ==
        "exit 2: mtfc: error: there is no command and no topic 'zero' (mtfc help layout speaks of it)\n");
  CHECK(outcome_in_models("$MTFC help nonsense") ==
        "exit 2: mtfc: error: there is no command and no topic 'nonsense' (mtfc help lists all commands and "
        "topics)\n");
  CHECK(outcome_in_models("$MTFC help run extra") ==
        "exit 2: mtfc: error: mtfc help takes one name, and 'extra' is a second one (only mtfc help hardware "
        "takes "
        "another, that of a profile)\n");
  CHECK(outcome_in_models("$MTFC man nonsense") ==
        "exit 2: mtfc: error: there is no command and no topic 'nonsense' (mtfc help lists all commands and "
        "topics)\n");
  CHECK(outcome_in_models("$MTFC man run --all x") ==
        "exit 2: mtfc: error: --all excludes the name of a page and -o (it writes all pages to a folder)\n");
}

TEST_CASE("the topic on hardware names every bundled profile, and no other") {
  std::set<std::string> profiles;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kSourceFolder) + "/models/hardware"))
    profiles.insert(entry.path().stem().string());
  REQUIRE(profiles.contains("local"));
  const std::string text = page("help hardware", 200);
  const size_t begin = text.find("The bundled profiles are:");
  REQUIRE(begin != std::string::npos);
  const size_t end = text.find("\n\n", text.find("\n\n", begin) + 2);
  CHECK(found_in(text.substr(begin, end - begin), "\n  ([a-z0-9-]+)  ") == profiles);
  CHECK(page("cost-report --help", 200).find("mtfc help hardware lists them") != std::string::npos);
}

TEST_CASE("the examples of topics are right") {
  const ScratchFolder folder;
  const std::vector<std::string> models = json_in(page("help model")), layouts = json_in(page("help layout"));
  REQUIRE(models.size() == 1);
  REQUIRE(layouts.size() == 1);
  const std::string model = folder.write("model.json", models[0]);
  const std::string layout = folder.write("layout.json", layouts[0]);
  const std::string said = outcome_in_models(
      fmt::format("$MTFC run '{}' --set batch=8 --layout '{}' --steps 2 --simulate", model, layout));
  CAPTURE(said);
  CHECK(said.starts_with("exit 0: "));
  CHECK(said.find("\nstep 2  loss ") != std::string::npos);
}

TEST_CASE("the options of a command are in groups") {
  const std::string help = page("run --help", 120);
  size_t at = 0;
  for (const char* heading :
       {"Positionals:", "Model and layout:", "Training and evaluation:", "Data and weights:", "Checkpoints:",
        "Hardware and limits:", "Ranks and hosts:", "Output:", "General:"}) {
    CAPTURE(heading);
    const size_t next = help.find(fmt::format("\n\n{}\n", heading), at);
    REQUIRE(next != std::string::npos);
    at = next;
  }
  CHECK(help.find("\n\n\n") == std::string::npos);
}

TEST_CASE("troff has nothing to complain of in any man page") {
  if (!has_groff()) return;
  const ScratchFolder folder;
  page(fmt::format("man --all '{}'", folder.path.string()));
  size_t pages = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path)) {
    if (!entry.is_regular_file()) continue;
    ++pages;
    CAPTURE(entry.path().string());
    for (const char* width : {"60n", "80n"})
      CHECK(
          outcome_of(fmt::format("groff -man -Tutf8 -ww -z -rLL={} '{}' 2>&1", width, entry.path().string()))
              .text == "");
  }
  CHECK(pages == 1 + 24 + std::size(kTopics));
}

TEST_CASE("the man page of a command has all that its help has") {
  if (!has_groff()) return;
  for (const char* command : {"run", "cost-report", "generate", "schema"}) {
    CAPTURE(command);
    const std::string help = page(fmt::format("{} --help", command), 200);
    const std::string man =
        outcome_of(fmt::format("'{}' man {} | groff -man -Tascii -P-cbou -rLL=200n", kTestedProgram, command))
            .text;
    for (const std::string& option : found_in(help, "\n  ((?:-[a-z],)?--[a-z-]+)")) {
      CAPTURE(option);
      CHECK(man.find(option.substr(option.find("--"))) != std::string::npos);
    }
    for (const char* section :
         {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"})
      CHECK(man.find(fmt::format("\n{}\n", section)) != std::string::npos);
    // The first example stands there as it is, up to where its line may be broken.
    const std::string examples = help.substr(help.find("\nExamples:\n") + 11);
    CHECK(man.find(examples.substr(2, std::min<size_t>(examples.find('\n') - 2, 30))) != std::string::npos);
  }
}

TEST_CASE("help rows explains every row of a cost report") {
  const std::string help = page("help rows", 200);
  std::vector<std::string> terms;  // in lower case, between the indent and the meaning
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ") && line[2] != ' ') terms.push_back(line.substr(2, 40));
  REQUIRE(terms.size() > 15);
  const auto is_explained = [&](const std::string& row) {
    return std::any_of(terms.begin(), terms.end(),
                       [&](const std::string& term) { return term.find(row) != std::string::npos; });
  };
  // Rows below another one belong to it: those of kinds of collectives and of axes, and figures per device.
  const std::set<std::string> parts = {"all_reduce", "over a", "per device", "hardware",
                                       "of a device's 4 GB"};
  std::istringstream report(
      page(fmt::format("cost-report '{}/models/mnist.json' -q --mesh a:4 --layout batch:a --layout hidden:a",
                       kSourceFolder),
           200));
  int rows = 0;
  bool begun = false;
  for (std::string line; std::getline(report, line);) {
    begun = begun || line.starts_with("devices ");
    if (!begun || line.empty() || line.starts_with("devices ")) continue;
    std::string row = line.substr(line.find_first_not_of(' '));
    row = row.substr(0, std::min(row.find("  "), row.find(',')));
    CAPTURE(row);
    CHECK((parts.count(row) == 1 || is_explained(row)));
    ++rows;
  }
  CHECK(rows > 25);
}

}  // namespace mtfc::manual_test
