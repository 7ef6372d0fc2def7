// The commands of the README and of the tutorial do what these show.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/documents.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::readme_test {
namespace {

struct Example {
  std::string command;
  std::string shown;
};

// The `$ build/mtfc ...` lines of a document's console blocks, each with the text below it.
std::vector<Example> examples(const std::string& document) {
  std::ifstream file(std::string(kSourceFolder) + "/" + document);
  std::vector<Example> found;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0)
      inside = line == "```console";
    else if (inside && line.rfind("$ ", 0) == 0)
      found.push_back({line.substr(2), ""});
    else if (inside && !found.empty())
      found.back().shown += line + "\n";
  }
  return found;
}

// Standard output and standard error arrive in either order.
std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The numbers of a training depend on the machine: the speed always, the last digits of a loss with the
// processor's BLAS kernels, the threads with its cores. An epoch is as long as the text that is read, a document.
std::string without_figures(const std::string& text) {
  return std::regex_replace(
      text,
      std::regex("(loss|bits_per_byte|accuracy|perplexity) [0-9.e+-]+|[0-9.e+-]+ steps/s.*|steps in "
                 ".*|[0-9]+ threads?|"
                 "(the largest difference is|rounding adds up to|an epoch of|bytes per token, in) .*"),
      "$1$2 ?");
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

void check_examples(const std::vector<Example>& all) {
  // The documents write their files in the build folder; this folder replaces it.
  const ScratchFolder folder;
  const std::string written = folder.path;
  for (const Example& example : all) {
    INFO(example.command);
    std::string command = example.command;
    REQUIRE(command.rfind("build/mtfc ", 0) == 0);
    command.replace(0, 10, fmt::format("'{}'", kTestedProgram));
    for (const std::string name : {"/ck", "/tuned"}) command = with(command, "build" + name, written + name);
    const std::string found =
        with(outcome_of(fmt::format("cd '{}' && {} 2>&1 </dev/null", kSourceFolder, command)).text,
             written + "/", "build/");
    CHECK(sorted_lines(without_figures(found)) == sorted_lines(without_figures(example.shown)));
  }
}

TEST_CASE("the README's commands print what it shows") {
  const std::vector<Example> all = examples("README.md");
  REQUIRE(all.size() >= 4);
  check_examples(all);
}

TEST_CASE("the commands of the reference print what it shows") {
  const std::vector<Example> all = examples("cmd/README.md");
  REQUIRE(all.size() >= 9);
  check_examples(all);
}

TEST_CASE("the tutorial's commands print what it shows") {
  const std::vector<Example> all = examples("models/TUTORIAL.md");
  REQUIRE(all.size() == 10);
  check_examples(all);
}

TEST_CASE("the commands of the tutorial of a fine-tuning print what it shows") {
  const std::vector<Example> all = examples("models/FINE_TUNING.md");
  REQUIRE(all.size() == 10);
  check_examples(all);
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The anchors that a browser of the source gives the headings of a document.
std::set<std::string> anchors(const std::string& document) {
  std::set<std::string> found;
  bool code = false;
  std::istringstream stream(document);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("```", 0) == 0) code = !code;
    if (code || line.rfind('#', 0) != 0) continue;
    std::string anchor;
    for (const char c : line.substr(std::min(line.size(), line.find_first_not_of("# "))))
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      else if (c == ' ')
        anchor += '-';
    found.insert(anchor);
  }
  return found;
}

TEST_CASE("every file and section that a document links to is there") {
  const std::filesystem::path root = kSourceFolder;
  const std::vector<std::string> all = documents();
  REQUIRE(all.size() >= 14);
  for (const std::string& name : all) {
    CAPTURE(name);
    const std::string text = content_of(root / name);
    REQUIRE(!text.empty());
    const std::regex link("\\]\\(([^)#:\\s]*)(#([^)\\s]+))?\\)");
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::filesystem::path target =
          (*at)[1].length() == 0 ? root / name : (root / name).parent_path() / (*at)[1].str();
      CHECK_MESSAGE(std::filesystem::exists(target), (*at)[0].str());
      if ((*at)[3].matched)
        CHECK_MESSAGE(anchors(content_of(target)).count((*at)[3].str()) == 1, (*at)[0].str());
    }
  }
}

}  // namespace
}  // namespace mtfc::readme_test
