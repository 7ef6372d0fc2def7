// Compares attention that knows positions by rotations and by biases (models/std/position.json) with an independent
// computation (scripts/make_position_reference.py): results and all gradients, on one device and under layouts; and
// with itself in generation, where one position at a time is computed.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "cmd/testing/shell.h"
#include "core/compile/pipeline.h"
#include "core/testing/checkout.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/executor.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc::position_reference_test {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFolder = std::string(kSourceFolder) + "/testdata/position_reference/";

struct Split {
  const char *mesh, *rules;
  bool propagate = false;
};
const std::vector<Split> kSplits = {{"a:1", ""},
                                    {"a:2", "batch:a"},
                                    {"a:2", "heads:a"},
                                    {"a:4", "length:a"},
                                    {"a:3", "memory_length:a"},
                                    {"a:2,b:3", "d_kv:a,length:b"},
                                    {"a:5", "buckets:a"},
                                    {"a:2,b:2", "batch:a,length:b", true},
                                    {"a:2,b:2", "heads:a,buckets:b,memory_length:b", true}};

Program program_of(const Split& split, DType dtype) {
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  const Model model = read_model(read_text(kFolder + "model.json", "model"), "model.json", {}, warnings,
                                 {[&](const IncludeName& name) { return includes.read(name); }, {{}, dtype}});
  CHECK(warnings.empty());
  LayoutSources sources;
  sources.mesh = split.mesh;
  sources.rules = split.rules;
  Layout layout = read_layout(sources);
  layout.propagate = split.propagate;
  return compile(model, layout, {});
}

WholeTensors outputs_of(const Program& program, const Json& given) {
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  executor.run(*program.find("init"), 0);
  const auto fill = [&](const std::string& name, const LocalShard& shard) {
    fill_shard({shard.type, given[name].get<std::vector<double>>()}, shard);
  };
  for (size_t v = 0; v < program.variables.size(); ++v)
    for (size_t d = 0; d < executor.devices(); ++d)
      fill(program.variables[v].decl.name, executor.variable(v, d));
  const EntryPoint& entry = *program.find("evaluate");
  executor.load(entry);
  for (const Binding& input : entry.inputs)
    for (size_t d = 0; d < executor.devices(); ++d) fill(input.name, executor.shard(entry, input.value, d));
  executor.run(entry, 0);
  return whole_outputs(executor, entry);
}

}  // namespace

TEST_CASE("rotations, slopes and learned biases of attention equal NumPy under layouts, gradients included") {
  const Json expected = Json::parse(read_text(kFolder + "expected.json", "reference"));
  for (const Split& split : kSplits)
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      const WholeTensors found = outputs_of(program_of(split, dtype), expected["given"]);
      CHECK(found.size() == expected["results"].size());
      for (const auto& [name, values] : expected["results"].items()) {
        INFO(fmt::format("{} {} {} {}", split.mesh, split.rules, to_string(dtype), name));
        REQUIRE(found.at(name).values.size() == values.size());
        double worst = 0;
        for (size_t i = 0; i < values.size(); ++i)
          worst = std::max(worst, std::abs(found.at(name).values[i] - values[i].get<double>()));
        CHECK(worst < (dtype == DType::kF64 ? 1e-11 : name == "loss" ? 1e-2 : 2e-4));
      }
    }
}

TEST_CASE("a learned bias for each distance gives the model's logits in generation, under layouts") {
  for (const char* layout :
       {"", " --mesh a:2 --layout heads:a", " --mesh a:3 --layout places:a,memory_length:a"}) {
    const Outcome found = outcome_of(
        fmt::format("'{}' verify '{}relative_lm.json' --set beam=2{} 2>&1", kTestedProgram, kFolder, layout));
    CAPTURE(found.text);
    CHECK(found.code == 0);
    CHECK(found.text.find("decode gives the model's logits at 11 positions") != std::string::npos);
  }
}

}  // namespace mtfc::position_reference_test
