// The examples of the documents in formats/ are files that mtfc reads, and the names in their tables exist.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/cost/hardware_keys.h"
#include "core/graph/op_registry.h"
#include "core/model/optimizer.h"
#include "core/testing/documents.h"
#include "formats/hardware/hardware_reader.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "formats/program/program_reader.h"
#include "formats/program/program_writer.h"

namespace mtfc::readme_test {
namespace {

// The names in backticks in the rows of the table with this head, in `columns` columns starting at
// `first_column`.
std::set<std::string> names_in_table(const std::string& head, size_t first_column, size_t columns) {
  std::set<std::string> names;
  bool inside = false;
  for (const std::string& line : lines_of_reference()) {
    if (line == head) inside = true;
    if (line.empty()) inside = false;
    if (!inside) continue;
    std::istringstream cells(line.substr(1));
    std::string cell;
    for (size_t i = 0; i < first_column + columns && std::getline(cells, cell, '|'); ++i) {
      if (i < first_column) continue;
      std::istringstream pieces(cell);
      std::string piece;
      for (bool quoted = false; std::getline(pieces, piece, '`'); quoted = !quoted)
        if (quoted) names.insert(piece);
    }
  }
  return names;
}

}  // namespace

TEST_CASE("the examples of the reference are read without an error or a warning") {
  std::vector<std::string> models, layouts, programs, profiles;
  for (const std::string& example : examples_of_reference()) {
    CAPTURE(example);
    std::vector<Diagnostic> warnings;
    if (is_program(example)) {
      programs.push_back(program_json(read_program(example, "program.json")));
    } else if (example.find("\"mtfc\"") != std::string::npos) {
      models.push_back(example);
      CHECK(!read_model(example, "model.json", {}, warnings).outputs.empty());
    } else if (example.find("\"flops\"") != std::string::npos ||
               example.find("\"base\"") != std::string::npos) {
      profiles.push_back(example);
      const Hardware hardware =
          read_hardware(example, "hardware.json", [&](const std::string&, const std::string&) {
            return ProfileFile{profiles.front(), "box.json"};
          });
      CHECK(read_hardware(hardware_json(hardware), "again.json") == hardware);
    } else {
      layouts.push_back(example);
      LayoutSources sources;
      sources.file = "layout.json";
      sources.file_text = example;
      CHECK(read_layout(sources).mesh.devices() == 8);
    }
    CHECK(warnings.empty());
  }
  REQUIRE(models.size() == 9);
  REQUIRE(layouts.size() == 6);
  REQUIRE(programs.size() == 1);
  CHECK(profiles.size() == 2);
  std::vector<Diagnostic> warnings;
  LayoutSources sources;
  sources.mesh = "all:2";
  sources.rules = "batch:all";
  CHECK(programs.front() == program_json(compile(read_model(models.back(), "model.json", {}, warnings),
                                                 read_layout(sources), {})));
}

TEST_CASE("the keys of a hardware profile that the reference explains exist") {
  const auto check_table = [](const std::string& head, const std::vector<std::string>& known) {
    const std::set<std::string> named = names_in_table(head, 0, 1);
    CHECK(named.size() > 4);
    for (const std::string& name : named) {
      CAPTURE(name);
      CHECK(std::count(known.begin(), known.end(), name) == 1);
    }
  };
  std::vector<std::string> profile, link;
  append_key_names(hardware_keys(), false, profile);
  append_key_names(rate_keys(), false, link);
  append_key_names(link_keys(), false, link);
  check_table("| profile key | meaning |", profile);
  check_table("| link key | meaning |", link);
}

TEST_CASE("the operations that the reference names exist") {
  const std::set<std::string> named = names_in_table("| family | examples |", 1, 1);
  CHECK(named.size() > 50);
  for (const std::string& operation : named) {
    CAPTURE(operation);
    CHECK(find_signature(operation));
  }
}

TEST_CASE("the reference names every optimizer, and no others") {
  std::set<std::string> optimizers = {"kind"};  // the head of the table
  for (const OptimizerDef* optimizer : all_optimizers()) optimizers.emplace(optimizer->name);
  CHECK(names_in_table("| `kind` | settings |", 0, 1) == optimizers);
}

}  // namespace mtfc::readme_test
