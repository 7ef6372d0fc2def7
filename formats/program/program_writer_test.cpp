#include "formats/program/program_writer.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "core/graph/op_registry.h"
#include "core/testing/steps_by_hand.h"

namespace mtfc::program_writer_test {

namespace {

Step named(Step step, const std::string& name) {
  step.name = name;
  step.source = "/ops/0";
  return step;
}

// x[batch=5/rows] summed over batch: a kernel and an all_reduce.
Program example() {
  Program program;
  program.model = "sum";
  program.layout.mesh = Mesh({{"rows", 2}});
  program.layout.rules = {{"batch", {0}, {}}};
  const TensorType type{DType::kF32, {{"batch", 5}, {"io", 3}}};
  program.inputs = {{"x", type, "random:normal", {}}};
  program.variables = {
      {{"w", {DType::kF32, {}}, Init{InitKind::kConstant, 0.5, 0}, true, false, {}}, {}, 0, 4}};
  EntryPoint entry;
  entry.name = "evaluate";
  entry.values = {{"x", type, {{{0}, {}}, {}}, BufferId(0)},
                  {"y@partial", {DType::kF32, {{"io", 3}}}, {{{}}, {{0, ReduceKind::kSum}}}, BufferId(1)},
                  {"y", {DType::kF32, {{"io", 3}}}, {{{}}, {}}, BufferId(1)}};
  entry.buffers = {{BufferKind::kInput, 36, 64, 0, 0}, {BufferKind::kActivation, 12, 128, 0, 2}};
  Step kernel = named(kernel_step("reduce_sum", {0}, 1), "y@partial");
  kernel.as<RunKernel>()->attributes = {{"over", Dims{{"batch", 5}}},
                                        {"limit", -std::numeric_limits<double>::infinity()}};
  const Step start = named(start_step({CollectiveKind::kAllReduce, {0}}, 1, 2), "y");
  Step wait = wait_step(start, 1);
  wait.inputs = wait.outputs = {};
  entry.steps = {kernel, start, wait};
  entry.inputs = {{"x", ValueId(0)}};
  entry.outputs = {{"y", ValueId(2)}};
  entry.arena_bytes = 192;
  program.entry_points = {entry};
  return program;
}

}  // namespace

TEST_CASE("the listing") {
  CHECK(program_text(example()) ==
        "program sum\n"
        "mesh    rows:2\n"
        "layout  batch:rows\n"
        "arena   192 bytes per device\n"
        "\n"
        "variables\n"
        "  w: f32[] at 0, 4 bytes\n"
        "\n"
        "evaluate: 3 steps, arena 192 bytes\n"
        "  inputs  x\n"
        "  0 y@partial: f32[io=3] = reduce_sum(x) limit=-inf over=[batch]\n"
        "  1 y: f32[io=3] = start all_reduce(y@partial) sum over rows, 3 elements, 16 bytes sent\n"
        "  2 wait all_reduce\n"
        "  outputs y\n");
}

TEST_CASE("names are shown, not obeyed") {
  Program program = example();
  program.model = "a\x1b[2J\"\n";
  program.variables[0].decl.name = "w\xE2\x80\xAE";
  program.entry_points[0].values[2].name = "y\x07";
  program.entry_points[0].outputs[0].name = "o\r";
  for (const std::string& text :
       {program_text(program), program_dot(program), buffers_text(program.entry_points[0])})
    for (const char c : text) REQUIRE((c == '\n' || (c >= 0x20 && c < 0x7F)));
  CHECK(program_text(program).starts_with("program a\\x1b[2J\"\\n\nmesh "));
  CHECK(program_dot(program).starts_with("digraph \"a\\\\x1b[2J\\\"\\\\n\" {"));
}

TEST_CASE("the JSON form holds everything") {
  const auto json = nlohmann::ordered_json::parse(program_json(example()));
  CHECK(json["mtfc_program"] == 1);
  CHECK(json["mesh"].dump() == R"([["rows",2]])");
  CHECK(json["rules"].dump() == R"([["batch",["rows"]]])");
  CHECK(json["inputs"].dump() ==
        R"([{"name":"x","dtype":"f32","dims":[["batch",5],["io",3]],"data":"random:normal"}])");
  CHECK(json["variables"][0]["init"].dump() == R"({"kind":"constant","a":0.5,"b":0.0})");
  const auto& entry = json["entry_points"][0];
  CHECK(entry["values"][1].dump() == R"({"name":"y@partial","dtype":"f32","dims":[["io",3]],)"
                                     R"("sharding":{"dims":[[]],"partial":{"rows":"sum"}},"buffer":1})");
  CHECK(entry["steps"][0]["attributes"].dump() ==
        R"({"limit":{"type":"number","value":"-inf"},"over":{"type":"dims","value":[["batch",5]]}})");
  CHECK(entry["steps"][1]["axes"].dump() == R"(["rows"])");
  CHECK(entry["steps"][2]["started"] == 1);
  CHECK(entry["outputs"].dump() == R"([{"name":"y","value":2}])");
  CHECK(program_json(example()) == program_json(example()));
}

}  // namespace mtfc::program_writer_test
