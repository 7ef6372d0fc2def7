#include "core/testing/documents.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

// The documents of one folder of the checkout, in the order of their names. Each folder has one at least.
std::vector<std::string> documents_in(const fs::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kSourceFolder / folder))
    if (entry.path().extension() == ".md") found.push_back((folder / entry.path().filename()).string());
  REQUIRE(!found.empty());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<std::string> documents() {
  std::vector<std::string> all;
  for (const char* folder : {"", "cmd", "core", "formats", "models", "runtime", "scripts"})
    for (const std::string& document : documents_in(folder)) all.push_back(document);
  return all;
}

std::vector<std::string> lines_of_reference() {
  std::vector<std::string> lines;
  for (const std::string& document : documents_in("formats")) {
    std::istringstream text(contents((kSourceFolder / fs::path(document)).string()));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    lines.emplace_back();
  }
  return lines;
}

std::vector<std::string> examples_of_reference() {
  std::vector<std::string> examples;
  bool inside = false;
  for (const std::string& line : lines_of_reference()) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```json";
      if (inside) examples.emplace_back();
    } else if (inside) {
      examples.back() += line + "\n";
    }
  }
  return examples;
}

}  // namespace mtfc
