// Compares training steps of small versions of the bundled Transformers with an independent computation
// (scripts/make_transformer_reference.py): losses, every gradient, every weight after the updates of each
// optimizer, in f64 and f32 and under layouts; and dropout, which is the same under all layouts.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "core/compile/pipeline.h"
#include "core/testing/checkout.h"
#include "formats/data/npy.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/data/array_file.h"
#include "runtime/execute/executor.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc::transformer_reference_test {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::vector<double>;

const std::vector<std::string> kCases = {"transformer_lm", "transformer_lm_tied", "transformer_encdec"};
const std::vector<std::string> kOptimizers = {"sgd", "momentum", "adam", "adamw", "adafactor"};

struct Split {
  const char *mesh, *rules;
};
const Split kOneDevice = {"all:1", ""};
// Few of the reference's sizes divide evenly, and with four devices one gets none of the three samples.
const std::vector<Split> kSplits = {kOneDevice,
                                    {"all:4", "batch:all"},
                                    {"all:2", "vocab:all,d_ff:all,heads:all"},
                                    {"rows:2,cols:2", "batch:rows,vocab:cols,d_ff:cols,heads:cols"},
                                    {"all:3", "length:all"},
                                    {"rows:2,cols:2", "length:rows,vocab:cols,d_ff:cols,d_kv:cols"},
                                    {"rows:2,cols:2", "memory_length:rows,d_model:cols"}};

// The script's results for one model and its sizes.
class Reference {
 public:
  explicit Reference(const std::string& name)
      : folder_(fmt::format("{}/testdata/transformer_reference/{}/", kSourceFolder, name)),
        expected_(Json::parse(read_text(folder_ + "expected.json", "reference"))) {}

  const Json& operator[](const char* key) const { return expected_[key]; }
  StoredArray stored(const std::string& name) const { return read_npy(folder_ + name + ".npy"); }

  // The tensors of all variables, which are stored one after another in row `row` of the array.
  std::map<std::string, Values> tensors(const std::string& array, int64_t row = 0) const {
    const StoredArray all = stored(array);
    const bool is_f32 = all.type == StoredType::kF32;
    REQUIRE((is_f32 || all.type == StoredType::kF64));
    const int64_t width = all.shape.back();
    int64_t at = row * width;
    std::map<std::string, Values> tensors;
    for (const auto& [name, shape] : expected_["variables"].items()) {
      int64_t count = 1;
      for (const Json& size : shape) count *= size.get<int64_t>();
      for (const int64_t end = at + count; at < end; ++at)
        tensors[name].push_back(is_f32 ? static_cast<double>(reinterpret_cast<const float*>(all.data)[at])
                                       : reinterpret_cast<const double*>(all.data)[at]);
    }
    REQUIRE(at == (row + 1) * width);
    return tensors;
  }

 private:
  std::string folder_;
  Json expected_;
};

struct Use {
  std::string optimizer;
  Split split;
  bool f64 = true;
  double dropout = 0;
  std::vector<std::string> shard_state_over = {};
  std::string text() const {
    return fmt::format("{} mesh {} layout {} state over {} {}", optimizer, split.mesh, split.rules,
                       fmt::join(shard_state_over, ","), f64 ? "f64" : "f32");
  }
};

Program program_of(const Reference& reference, const Use& use, const std::vector<std::string>& keep) {
  const std::string file =
      fmt::format("{}/models/{}.json", kSourceFolder, reference["model"].get<std::string>());
  std::vector<std::string> sets = {fmt::format("dropout={}", use.dropout)};
  for (const auto& [name, value] : reference["sets"].items())
    sets.push_back(fmt::format("{}={}", name, value.dump()));
  ModelOverrides overrides;
  overrides.optimizer = use.optimizer;
  if (use.f64) overrides.dtype = DType::kF64;
  Json model = Json::parse(read_text(file, "model"));
  // Its variables are small, but the reference factors them all. It has no weight decay.
  if (use.optimizer == "adafactor") {
    model["train"]["optimizer"] = {
        {"kind", "adafactor"}, {"least_factored", 1}, {"lr", model["train"]["optimizer"]["lr"]}};
    model["train"].erase("no_decay");
  }
  if (!use.shard_state_over.empty()) model["train"]["shard_state_over"] = use.shard_state_over;
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  const Model read = read_model(model.dump(), file, sets, warnings,
                                {[&](const IncludeName& name) { return includes.read(name); }, overrides});
  CHECK(warnings.empty());
  LayoutSources sources;
  sources.mesh = use.split.mesh;
  sources.rules = use.split.rules;
  CompileOptions options;
  options.keep = keep;
  return compile(read, read_layout(sources), options);
}

// The devices of a program that starts from the reference's weights.
class Trained {
 public:
  Trained(Program program, const Reference& reference)
      : program_(std::move(program)),
        reference_(reference),
        processes_(Processes::alone()),
        comm_(program_.mesh(), processes_),
        executor_(program_, comm_),
        entry_(*program_.find("train")) {
    executor_.run(*program_.find("init"), 0);
    const std::map<std::string, Values> start = reference.tensors("start");
    size_t loaded = 0;
    for (size_t v = 0; v < program_.variables.size(); ++v) {
      const VariableDecl& decl = program_.variables[v].decl;
      if (decl.optimizer_state) continue;
      CAPTURE(decl.name);
      REQUIRE(start.count(decl.name) == 1);
      REQUIRE(shape_of(decl) == reference["variables"][decl.name].get<std::vector<int64_t>>());
      ++loaded;
      for (size_t d = 0; d < executor_.devices(); ++d)
        fill_shard({decl.type, start.at(decl.name)}, executor_.variable(v, d));
    }
    REQUIRE(loaded == start.size());
    executor_.load(entry_);
  }

  void step() {
    REQUIRE(entry_.inputs.size() == reference_["inputs"].size());
    for (const Binding& input : entry_.inputs)
      for (size_t d = 0; d < executor_.devices(); ++d)
        load_array(reference_.stored(input.name), input.name, executor_.shard(entry_, input.value, d));
    executor_.run(entry_, steps_++);
  }

  Values output(const std::string& name) {
    std::vector<LocalShard> shards;
    for (const Binding& output : entry_.outputs)
      for (size_t d = 0; d < executor_.devices() && output.name == name; ++d)
        shards.push_back(executor_.shard(entry_, output.value, d));
    return whole(name, shards);
  }
  double loss() { return output("loss").at(0); }
  Values variable(const std::string& name) {
    std::vector<LocalShard> shards;
    for (size_t v = 0; v < program_.variables.size(); ++v)
      for (size_t d = 0; d < executor_.devices() && program_.variables[v].decl.name == name; ++d)
        shards.push_back(executor_.variable(v, d));
    return whole(name, shards);
  }

 private:
  static std::vector<int64_t> shape_of(const VariableDecl& decl) {
    std::vector<int64_t> shape;
    for (const Dim& dim : decl.type.dims) shape.push_back(dim.size);
    return shape;
  }
  static Values whole(const std::string& name, const std::vector<LocalShard>& shards) {
    CAPTURE(name);
    REQUIRE(!shards.empty());
    return assembled(name, shards[0].type, shards).values;
  }

  Program program_;
  const Reference& reference_;
  Processes processes_;
  LockstepComm comm_;
  Executor executor_;
  const EntryPoint& entry_;
  int64_t steps_ = 0;
};

double largest(const Values& values) {
  double size = 0;
  for (const double value : values) size = std::max(size, std::abs(value));
  return size;
}

// The tolerance is relative to the largest element.
void check_near(const std::string& name, const Values& found, const Values& expected, double tolerance) {
  CAPTURE(name);
  REQUIRE(found.size() == expected.size());
  CHECK(std::all_of(found.begin(), found.end(), [](double value) { return std::isfinite(value); }));
  Values differences;
  for (size_t i = 0; i < found.size(); ++i) differences.push_back(found[i] - expected[i]);
  CHECK(largest(differences) <= tolerance * largest(expected));
}

std::vector<std::string> gradient_names(const Reference& reference) {
  std::vector<std::string> names;
  for (const auto& variable : reference["variables"].items()) names.push_back(variable.key() + "/grad");
  return names;
}

TEST_CASE("the gradients of Transformers equal PyTorch's under layouts") {
  for (const std::string& name : kCases) {
    const Reference reference(name);
    const std::map<std::string, Values> gradients = reference.tensors("gradients");
    for (const Split& split : kSplits)
      for (const bool f64 : {true, false}) {
        const Use use = {"sgd", split, f64};
        INFO(name << " " << use.text());
        const double tolerance = f64 ? 1e-9 : 1e-4;
        Trained trained(program_of(reference, use, gradient_names(reference)), reference);
        trained.step();
        check_near("loss", {trained.loss()}, {reference["losses"]["sgd"][0].get<double>()}, tolerance);
        for (const auto& [variable, expected] : gradients)
          check_near(variable, trained.output(variable + "/grad"), expected, tolerance);
      }
  }
}

// Compares losses and weights of all steps.
void check_training(const Reference& reference, const Use& use) {
  INFO(use.text());
  const double tolerance = use.f64 ? 1e-9 : 1e-4;
  Trained trained(program_of(reference, use, {}), reference);
  const Json& losses = reference["losses"][use.optimizer];
  for (size_t step = 0; step < losses.size(); ++step) {
    CAPTURE(step);
    trained.step();
    check_near("loss", {trained.loss()}, {losses[step].get<double>()}, tolerance);
    for (const auto& [name, expected] : reference.tensors(use.optimizer, static_cast<int64_t>(step)))
      check_near(name, trained.variable(name), expected, tolerance);
  }
}

TEST_CASE("the weights of Transformers after each step of every optimizer equal PyTorch's and NumPy's") {
  for (const std::string& name : kCases) {
    INFO(name);
    const Reference reference(name);
    for (const std::string& optimizer : kOptimizers)
      for (const Split& split : kSplits)
        for (const bool f64 : {true, false}) check_training(reference, {optimizer, split, f64});
  }
}

TEST_CASE("the weights of Transformers equal them with the optimizer's state split") {
  const std::vector<std::pair<Split, std::vector<std::string>>> uses = {
      {{"all:4", "batch:all"}, {"all"}},
      {{"rows:2,cols:2", "batch:rows,vocab:cols,d_ff:cols,heads:cols"}, {"rows"}}};
  for (const std::string& name : kCases) {
    INFO(name);
    const Reference reference(name);
    for (const std::string& optimizer : kOptimizers)
      for (const auto& [split, axes] : uses)
        for (const bool f64 : {true, false}) check_training(reference, {optimizer, split, f64, 0, axes});
  }
}

TEST_CASE("dropout in Transformers is the same under layouts") {
  for (const std::string& name : kCases) {
    const Reference reference(name);
    const auto losses_of = [&](const Split& split) {
      Trained trained(program_of(reference, {"sgd", split, true, 0.3}, {}), reference);
      trained.step();
      const double first = trained.loss();
      trained.step();
      return Values{first, trained.loss()};
    };
    const Values alone = losses_of(kOneDevice);
    // Dropout has an effect, and a different one in another step.
    const Json& without = reference["losses"]["sgd"];
    for (size_t step = 0; step < alone.size(); ++step)
      CHECK(std::abs(alone[step] - without[step].get<double>()) > 1e-3);
    CHECK(std::abs(alone[1] - alone[0] - (without[1].get<double>() - without[0].get<double>())) > 1e-3);
    for (const Split& split : kSplits) {
      INFO(name << " mesh " << split.mesh << " layout " << split.rules);
      check_near("losses", losses_of(split), alone, 1e-12);
    }
  }
}

}  // namespace
}  // namespace mtfc::transformer_reference_test
