// Compares layers of experts (models/std/moe.json) with an independent computation by loops over tokens
// (scripts/make_moe_reference.py): routes, places, results, losses, load, drops and all gradients, by index and by
// mask, on up to eight devices.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "core/compile/pipeline.h"
#include "core/testing/checkout.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/executor.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc::moe_reference_test {
namespace {

using Json = nlohmann::ordered_json;

// The names of the reference and those of the model.
struct Named {
  const char *expected, *tensor;
};

struct Split {
  const char *mesh, *rules;
  bool propagate = false;
};
// Ten experts do not divide evenly among four devices or eight.
const std::vector<Split> kSplits = {
    {"all:1", ""},
    {"all:2", "groups:all,experts:all", true},
    {"all:4", "groups:all,experts:all", true},
    {"all:8", "groups:all,experts:all", true},
    {"rows:2,cols:2", "groups:rows,experts:rows,d_ff:cols", true},
    {"rows:2,cols:4", "groups:rows+cols,experts:rows+cols", true},
    {"rows:2,cols:2", "experts:rows,capacity:cols"},
    {"all:3", "tokens:all"},
    {"all:3", "d_model:all"},
    {"all:2", "gates:all,choice:all"},
    {"all:5", "slots:all", true},
};

Json reference(const std::string& name) {
  return Json::parse(
      read_text(fmt::format("{}/testdata/moe_reference/{}.json", kSourceFolder, name), "reference"));
}

// The layer with x and t as variables, so that they start from given values and x has a gradient.
std::string model_text(const Json& expected, bool one_hot) {
  const bool experts_choose = expected["results"].find("balance") == expected["results"].end();
  Json model = {{"mtfc", 1}, {"include", {"std/moe.json"}}};
  for (const auto& [size, value] : expected["sizes"].items())
    model[size == "capacity_factor" ? "params" : "dims"][size] = value;
  model["dims"]["beam"] = 1;
  const Json dims = {"groups", "tokens", "d_model"};
  model["variables"] = {{"x", {{"dims", dims}}}, {"t", {{"dims", dims}, {"trainable", false}}}};
  Json call = {
      {"op", "call"}, {"block", experts_choose ? "expert_choice" : "moe"}, {"in", "x"}, {"scope", "moe"}};
  call["bind"]["one_hot"] = one_hot ? 1 : 0;
  if (experts_choose) {
    call["out"] = {"y", "z_loss", "dropped"};
  } else {
    model["variables"]["present"] = {{"dims", {"groups", "tokens"}}, {"dtype", "i32"}};
    call["in"] = {"x", {{"op", "greater"}, {"in", {"present", 0}}}};
    call["out"] = {"y", "balance", "z_loss", "load", "dropped"};
    for (const char* param : {"random", "count_unused", "masked"}) call["bind"][param] = expected[param];
  }
  const Json scaled = {{"op", "mul"}, {"in", {"z_loss", 0.3}}};
  model["ops"] = {call,
                  {{"out", "sum"}, {"op", "einsum"}, {"in", {"y", "t"}}, {"dims", Json::array()}},
                  {{"out", "without"}, {"op", "add"}, {"in", {"sum", scaled}}}};
  if (experts_choose)
    model["ops"].push_back({{"out", "loss"}, {"op", "identity"}, {"in", "without"}});
  else
    model["ops"].push_back(
        {{"out", "loss"}, {"op", "add"}, {"in", {"without", {{"op", "mul"}, {"in", {"balance", 0.7}}}}}});
  model["train"] = {{"loss", "loss"}, {"optimizer", {{"kind", "sgd"}, {"lr", 0.1}}}};
  model["outputs"] = {"loss"};
  return model.dump();
}

std::vector<Named> compared(const Json& expected) {
  std::vector<Named> names = {{"y", "y"},
                              {"z_loss", "z_loss"},
                              {"dropped", "dropped"},
                              {"chosen", "moe/chosen"},
                              {"weights", "moe/weights"}};
  if (expected["results"].find("balance") == expected["results"].end()) return names;
  for (const Named& more : std::vector<Named>{{"balance", "balance"},
                                              {"load", "load"},
                                              {"place", "moe/place"},
                                              {"used", "moe/used"},
                                              {"fits", "moe/fits"}})
    names.push_back(more);
  return names;
}

const std::vector<Named> kVariables = {{"x", "x"},
                                       {"t", "t"},
                                       {"present", "present"},
                                       {"gates", "moe/gates/w"},
                                       {"wi", "moe/experts/wi"},
                                       {"wo", "moe/experts/wo"}};

bool has_gradient(const Named& variable) {
  return variable.expected != std::string_view("t") && variable.expected != std::string_view("present");
}

// In the layer whose tokens choose, the experts are called by its part `dispatch`.
std::string variable_name(const Json& expected, const Named& variable) {
  const std::string name = variable.tensor;
  const bool experts_choose = expected["results"].find("balance") == expected["results"].end();
  if (experts_choose || name.find("moe/experts/") != 0) return name;
  return "moe/dispatch/experts/" + name.substr(name.rfind('/') + 1);
}

Program program_of(const Json& expected, const Split& split, bool one_hot) {
  ModelOverrides overrides;
  overrides.dtype = DType::kF64;
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  const Model model = read_model(model_text(expected, one_hot), "moe.json", {}, warnings,
                                 {[&](const IncludeName& name) { return includes.read(name); }, overrides});
  CHECK(warnings.empty());
  LayoutSources sources;
  sources.mesh = split.mesh;
  sources.rules = split.rules;
  CompileOptions options;
  for (const Named& name : compared(expected)) options.keep.push_back(name.tensor);
  for (const Named& variable : kVariables)
    if (has_gradient(variable)) options.keep.push_back(variable_name(expected, variable) + "/grad");
  Layout layout = read_layout(sources);
  layout.propagate = split.propagate;
  return compile(model, layout, options);
}

void check_near(const std::string& name, const std::vector<double>& found, const Json& expected) {
  CAPTURE(name);
  const std::vector<double> values = expected.get<std::vector<double>>();
  REQUIRE(found.size() == values.size());
  double largest = 0, difference = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(values[i]));
    difference = std::max(difference, std::abs(found[i] - values[i]));
    CHECK(std::isfinite(found[i]));
  }
  CHECK(difference <= 1e-12 * std::max(1.0, largest));
}

void check_step(const Json& expected, const Split& split, bool one_hot) {
  INFO(split.mesh << " " << split.rules << (one_hot ? ", by mask" : ", by index"));
  const Program program = program_of(expected, split, one_hot);
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  for (size_t v = 0; v < program.variables.size(); ++v) {
    const VariableDecl& decl = program.variables[v].decl;
    const auto known = std::find_if(kVariables.begin(), kVariables.end(), [&](const Named& variable) {
      return variable_name(expected, variable) == decl.name;
    });
    REQUIRE(known != kVariables.end());
    const WholeTensor start{decl.type, expected["start"][known->expected].get<std::vector<double>>()};
    REQUIRE(static_cast<int64_t>(start.values.size()) == elements(decl.type.dims));
    for (size_t d = 0; d < executor.devices(); ++d) fill_shard(start, executor.variable(v, d));
  }
  const EntryPoint& entry = *program.find("train");
  executor.load(entry);
  executor.run(entry, 0);
  const WholeTensors found = whole_outputs(executor, entry);
  check_near("loss", found.at("loss").values, expected["results"]["loss"]);
  for (const Named& name : compared(expected))
    check_near(name.expected, found.at(name.tensor).values, expected["results"][name.expected]);
  for (const Named& variable : kVariables)
    if (has_gradient(variable))
      check_near(variable.expected, found.at(variable_name(expected, variable) + "/grad").values,
                 expected["gradients"][variable.expected]);
}

void check_case(const std::string& name) {
  const Json expected = reference(name);
  for (const Split& split : kSplits)
    for (const bool one_hot : {false, true}) check_step(expected, split, one_hot);
}

}  // namespace

TEST_CASE("tokens with two experts each are routed, computed and differentiated as in the reference") {
  check_case("top2");
}

TEST_CASE("second choices at random are those of the reference, and take no place that they do not need") {
  check_case("top2_random");
}

TEST_CASE("with count_unused, second choices that are not used take places") {
  check_case("top2_letter");
}

TEST_CASE("tokens that are not present go to no expert, take no place, and count for nothing") {
  check_case("top2_masked");
}

TEST_CASE("where no token is present, all losses and loads are 0") {
  check_case("top2_absent");
}

TEST_CASE("tokens with one expert each, of which some tie, are as in the reference") {
  check_case("top1_ties");
}

TEST_CASE("experts that choose tokens are as in the reference") {
  check_case("expert_choice");
}

}  // namespace mtfc::moe_reference_test
