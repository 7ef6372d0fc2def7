// Every optimizer, with schedules, clipping and weight decay, against an independent computation
// (scripts/make_optimizer_reference.py), in f64 and f32 and under several layouts.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cmd/files.h"
#include "core/cost.h"
#include "core/pipeline.h"
#include "formats/layout_reader.h"
#include "formats/model_reader.h"
#include "formats/npy.h"
#include "runtime/array_file.h"
#include "runtime/comm_lockstep.h"
#include "runtime/executor.h"
#include "runtime/layout_trial.h"

namespace mtfc {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFolder = std::string(MTFC_SOURCE_DIR) + "/testdata/optimizers/";

std::string stored(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return kFolder + name + ".npy";
}

Json cases() {
  return Json::parse(read_text(kFolder + "expected.json", "case"));
}

struct Use {
  std::string mesh, rules;
  std::vector<std::string> shard_state_over = {};
  bool f64 = true;
};

Model model_of(const Json& train, const Use& use, const ModelOverrides& overrides = {}) {
  Json model = Json::parse(read_text(kFolder + "model.json", "model"));
  model["train"] = train;
  model["train"]["loss"] = "loss";
  if (!use.shard_state_over.empty()) model["train"]["shard_state_over"] = use.shard_state_over;
  std::vector<Diagnostic> warnings;
  ModelOverrides both = overrides;
  both.f64 = use.f64;
  Model read = read_model(model.dump(), "model.json", {}, warnings, {}, both);
  CHECK(warnings.empty());
  return read;
}

Program program_of(const Json& train, const Use& use, const std::vector<std::string>& keep = {}) {
  LayoutSources sources;
  sources.mesh = use.mesh;
  sources.rules = use.rules;
  CompileOptions options;
  options.keep = keep;
  return compile(model_of(train, use), read_layout(sources), options);
}

// The devices of a program, with the variables and the inputs that are stored in the folder.
class Trained {
 public:
  explicit Trained(Program program)
      : program_(std::move(program)),
        processes_(Processes::alone()),
        comm_(program_.mesh(), processes_),
        executor_(program_, comm_),
        entry_(*program_.find("train")) {
    executor_.run(*program_.find("init"), 0);
    for (size_t v = 0; v < program_.variables.size(); ++v)
      if (!program_.variables[v].decl.optimizer_state) {
        const std::string& name = program_.variables[v].decl.name;
        for (size_t d = 0; d < executor_.devices(); ++d)
          load_array(read_npy(stored(name)), name, executor_.variable(v, d));
      }
    executor_.load(entry_);
  }

  void step() {
    for (const Binding& input : entry_.inputs)
      for (size_t d = 0; d < executor_.devices(); ++d)
        load_array(read_npy(stored(input.name)), input.name, executor_.part(entry_, input.value, d));
    executor_.run(entry_, steps_++);
  }

  double output(const std::string& name) {
    for (const Binding& output : entry_.outputs)
      if (output.name == name) return whole(name, output.value).values.at(0);
    FAIL("no output " << name);
    return 0;
  }
  std::vector<double> variable(const std::string& name) {
    std::vector<LocalPart> parts;
    for (size_t v = 0; v < program_.variables.size(); ++v)
      for (size_t d = 0; d < executor_.devices() && program_.variables[v].decl.name == name; ++d)
        parts.push_back(executor_.variable(v, d));
    REQUIRE(!parts.empty());
    return assembled(name, parts[0].type, parts).values;
  }
  std::vector<StepCount> counts() { return executor_.counts(entry_); }
  const EntryPoint& entry() const { return entry_; }

 private:
  WholeTensor whole(const std::string& name, ValueId value) {
    std::vector<LocalPart> parts;
    for (size_t d = 0; d < executor_.devices(); ++d) parts.push_back(executor_.part(entry_, value, d));
    return assembled(name, parts[0].type, parts);
  }

  Program program_;
  Processes processes_;
  LockstepComm comm_;
  Executor executor_;
  const EntryPoint& entry_;
  int64_t steps_ = 0;
};

void check_case(const Json& expected, const Use& use) {
  const double tolerance = use.f64 ? 1e-12 : 1e-4;
  const Json& train = expected["train"];
  std::vector<std::string> keep;
  if (train.contains("clip_norm")) keep.push_back("train/grad_norm");
  if (train["optimizer"]["lr"].is_object()) keep.push_back("train/lr");
  Trained trained(program_of(train, use, keep));
  for (const Json& step : expected["steps"]) {
    trained.step();
    const auto near = [&](double value) { return doctest::Approx(value).epsilon(tolerance).scale(1); };
    CHECK(trained.output("loss") == near(step["loss"].get<double>()));
    if (train.contains("clip_norm"))
      CHECK(trained.output("train/grad_norm") == near(step["norm"].get<double>()));
    if (train["optimizer"]["lr"].is_object())
      CHECK(trained.output("train/lr") == near(step["lr"].get<double>()));
  }
  for (const auto& [name, values] : expected["end"].items()) {
    const std::vector<double> found = trained.variable(name);
    REQUIRE(found.size() == values.size());
    for (size_t i = 0; i < found.size(); ++i) {
      INFO(fmt::format("{}[{}]", name, i));
      CHECK(std::abs(found[i] - values[i].get<double>()) < tolerance);
    }
  }
}

void check_all(const std::vector<Use>& uses) {
  for (const Json& expected : cases())
    for (const Use& use : uses) {
      INFO(fmt::format("{} mesh {} layout {} state over {} {}", expected["name"].get<std::string>(), use.mesh,
                       use.rules, fmt::join(use.shard_state_over, ","), use.f64 ? "f64" : "f32"));
      check_case(expected, use);
    }
}

TEST_CASE("optimizers equal NumPy under layouts") {
  std::vector<Use> uses;
  for (const bool f64 : {true, false}) {
    uses.push_back({"a:1", "", {}, f64});
    uses.push_back({"a:2", "batch:a", {}, f64});
    uses.push_back({"a:3", "hidden:a", {}, f64});
    uses.push_back({"a:2,b:2", "batch:a,hidden:b", {}, f64});
    uses.push_back({"a:2,b:3", "out:a,rows:b", {}, f64});
    uses.push_back({"a:4,b:2", "cols:a,out:b", {}, f64});
  }
  check_all(uses);
}

TEST_CASE("optimizers equal NumPy with their state split") {
  std::vector<Use> uses;
  for (const bool f64 : {true, false}) {
    uses.push_back({"a:2", "batch:a", {"a"}, f64});
    uses.push_back({"a:5", "batch:a", {"a"}, f64});
    uses.push_back({"a:3", "hidden:a", {"a"}, f64});
    uses.push_back({"a:2,b:2", "batch:a,hidden:b", {"a"}, f64});
    uses.push_back({"a:2,b:2", "batch:a,hidden:b", {"b", "a"}, f64});
    uses.push_back({"a:2,b:2,c:2", "cols:a,hidden:b,rows:c", {"a", "c"}, f64});
  }
  check_all(uses);
}

}  // namespace
}  // namespace mtfc
