// Random cases written as files: the files of a failing case can be read again.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/compile/pipeline.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/testing/model_json.h"
#include "runtime/testing/random_models.h"

namespace mtfc::model_file_test {
namespace {

// `ENTRY.OUTPUT f32[a:2]` of every entry point of the program.
std::vector<std::string> outputs_of(const Program& program) {
  std::vector<std::string> found;
  for (const EntryPoint& entry : program.entry_points)
    for (const Binding& output : entry.outputs)
      found.push_back(
          fmt::format("{}.{} {}", entry.name, output.name, to_string(entry.values[output.value].type)));
  return found;
}

TEST_CASE("a random case, written as files, is read as it was") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomCase drawn = random_case(seed);
    WholeTensors leaves;
    const Model expected = model_of(drawn, leaves);
    const std::string text = model_file(drawn);
    INFO(text);
    std::vector<Diagnostic> warnings;
    const Model read = read_model(text, "case.json", {}, warnings);
    LayoutSources sources;
    sources.file = "layout.json";
    sources.file_text = layout_file(drawn);
    const Layout layout = read_layout(sources);
    CHECK(to_string(layout.mesh) == to_string(drawn.layout.mesh));
    CHECK(to_string(layout) == to_string(drawn.layout));
    REQUIRE(read.outputs.size() == expected.outputs.size());
    for (size_t i = 0; i < read.outputs.size(); ++i) {
      CHECK(read.outputs[i].name == expected.outputs[i].name);
      CHECK(read.graph.type(read.outputs[i].tensor) == expected.graph.type(expected.outputs[i].tensor));
    }
    CHECK(read.assignments.size() == expected.assignments.size());
    CHECK(read.train.has_value() == expected.train.has_value());
    // Both can be compiled, and their programs deliver the same.
    CHECK(outputs_of(compile(read, layout, {})) == outputs_of(compile(expected, drawn.layout, {})));
  }
}

}  // namespace
}  // namespace mtfc::model_file_test
