// Compares every optimizer, with schedules, clipping and weight decay, with an independent computation
// (scripts/make_optimizer_reference.py), in f64 and f32 and under several layouts.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cmd/files/files.h"
#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/testing/checkout.h"
#include "formats/data/npy.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/data/array_file.h"
#include "runtime/execute/executor.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc::optimizer_test {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFolder = std::string(kSourceFolder) + "/testdata/optimizers/";

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

Model model_of(const Json& train, const Use& use, const std::vector<std::string>& sets) {
  Json model = Json::parse(read_text(kFolder + "model.json", "model"));
  model["train"] = train;
  model["train"]["loss"] = "loss";
  if (!use.shard_state_over.empty()) model["train"]["shard_state_over"] = use.shard_state_over;
  std::vector<Diagnostic> warnings;
  Model read = read_model(model.dump(), "model.json", sets, warnings,
                          {{}, {{}, use.f64 ? std::optional(DType::kF64) : std::nullopt}});
  CHECK(warnings.empty());
  return read;
}

Program program_of(const Json& train, const Use& use, const std::vector<std::string>& keep = {},
                   const std::vector<std::string>& sets = {}) {
  LayoutSources sources;
  sources.mesh = use.mesh;
  sources.rules = use.rules;
  CompileOptions options;
  options.keep = keep;
  return compile(model_of(train, use, sets), read_layout(sources), options);
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
        load_array(read_npy(stored(input.name)), input.name, executor_.shard(entry_, input.value, d));
    executor_.run(entry_, steps_++);
  }

  double output(const std::string& name) {
    for (const Binding& output : entry_.outputs)
      if (output.name == name) return whole(name, output.value).values.at(0);
    FAIL("no output " << name);
    return 0;
  }
  std::vector<double> variable(const std::string& name) {
    std::vector<LocalShard> shards;
    for (size_t v = 0; v < program_.variables.size(); ++v)
      for (size_t d = 0; d < executor_.devices() && program_.variables[v].decl.name == name; ++d)
        shards.push_back(executor_.variable(v, d));
    REQUIRE(!shards.empty());
    return assembled(name, shards[0].type, shards).values;
  }
  std::vector<StepCount> counts() { return executor_.counts(entry_); }
  const EntryPoint& entry() const { return entry_; }

 private:
  WholeTensor whole(const std::string& name, ValueId value) {
    std::vector<LocalShard> shards;
    for (size_t d = 0; d < executor_.devices(); ++d) shards.push_back(executor_.shard(entry_, value, d));
    return assembled(name, shards[0].type, shards);
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
  for (const auto& item : expected["end"].items()) {
    const std::string& name = item.key();
    const Json& values = item.value();
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

// The bytes of the optimizer's state on each device, for dimensions that divide evenly.
int64_t state_bytes(const std::string& kind, const Use& use) {
  Json train = {{"optimizer", {{"kind", kind}, {"lr", 0.1}}}};
  if (kind == "adafactor") train["optimizer"]["least_factored"] = 1;
  const Program program = program_of(train, use, {}, {"hidden=16", "rows=8"});
  const EntryPoint& entry = *program.find("train");
  return cost_report(program, entry, predicted_counts(program, entry)).memory.optimizer_state;
}

TEST_CASE("split state takes its part of the memory") {
  // Bytes of layer/w[8, 4, 16], layer/bias[16], head/w[16, 4] and the scalar head/gain in f64; train/step is
  // extra.
  const int64_t w = 8 * 4 * 16 * 8, bias = 16 * 8, head = 16 * 4 * 8, scalar = 8;
  for (const int64_t n : {1, 2, 4, 8}) {
    CAPTURE(n);
    const Use data_parallel{fmt::format("a:{},b:3", n), "batch:a", {"a"}};
    CHECK(state_bytes("adamw", data_parallel) == 2 * ((w + bias + head) / n + scalar) + scalar);
    CHECK(state_bytes("momentum", data_parallel) == (w + bias + head) / n + scalar);
    // The means over columns and over rows: [8, 4] and [4, 16] for layer/w, [16] and [4] for head/w.
    const int64_t columns = std::max<int64_t>(4 / n, 1) * 8;
    CHECK(state_bytes("adafactor", data_parallel) ==
          (8 * 4 * 8 + 4 * 16 * 8 + 16 * 8) / n + columns + bias / n + 2 * scalar);
    // State that the layout already splits over the axis stays unchanged; state split over another axis is
    // split further.
    CHECK(state_bytes("momentum", {fmt::format("a:{}", n), "hidden:a", {"a"}}) ==
          (w + bias + head) / n + scalar);
    CHECK(state_bytes("momentum", {fmt::format("a:{},b:2", n), "hidden:b", {"a"}}) ==
          (w + head) / (2 * n) + std::max<int64_t>(bias / (2 * n), 8) + scalar);
  }
}

TEST_CASE("what an optimizer keeps can be asked for") {
  const Json train = {{"optimizer", {{"kind", "adam"}, {"lr", 0.1}, {"beta1", 0.75}}}};
  const std::string gradient = "head/gain/grad", m = "head/gain/adam_m";
  Trained trained(program_of(train, {"a:2", "batch:a", {"a"}}, {"train/step", gradient, m}));
  double expected = 0;
  for (int step = 1; step <= 3; ++step) {
    trained.step();
    expected = 0.75 * expected + 0.25 * trained.output(gradient);
    CHECK(trained.output(m) == doctest::Approx(expected).epsilon(1e-12));
    CHECK(trained.output("train/step") == step);
  }
  CHECK(trained.variable("train/step") == std::vector<double>{3});
}

TEST_CASE("split state: gradients by reduce_scatter, new values by all_gather") {
  const Json train = {{"clip_norm", 0.5}, {"optimizer", {{"kind", "adamw"}, {"lr", 0.1}}}};
  // In a batch of a few examples, it costs less to send activations.
  const auto by_kind = [&](const Use& use) {
    const Program program = program_of(train, use, {}, {"batch=40000"});
    const EntryPoint& entry = *program.find("train");
    std::map<std::string, std::pair<int64_t, int64_t>> totals;  // count and elements
    for (const auto& [kind, total] :
         cost_report(program, entry, predicted_counts(program, entry)).communication.by_kind)
      totals[kind] = {total.count, total.elements};
    return totals;
  };
  using Totals = std::map<std::string, std::pair<int64_t, int64_t>>;
  const int64_t w = 3 * 4 * 7, bias = 7, head = 7 * 4;
  // The loss, and all gradients together.
  CHECK(by_kind({"a:2", "batch:a"}) == Totals{{"all_reduce", {2, w + bias + head + 2}}});
  // The loss, the gradient of the scalar, and the sum of the squares of all other gradients.
  CHECK(by_kind({"a:2", "batch:a", {"a"}}) == Totals{{"all_reduce", {3, 3}},
                                                     {"reduce_scatter", {3, w + bias + head}},
                                                     {"all_gather", {3, w + bias + head}}});
}

TEST_CASE("split state sends what is predicted") {
  const Json train = {{"clip_norm", 0.5}, {"optimizer", {{"kind", "adamw"}, {"lr", 0.1}}}};
  for (const Use& use : {Use{"a:2", "batch:a"}, Use{"a:2", "batch:a", {"a"}}}) {
    const Program program = program_of(train, use);
    Trained trained(program);
    trained.step();
    const std::vector<StepCount> predicted = predicted_counts(program, trained.entry());
    const std::vector<StepCount> counted = trained.counts();
    REQUIRE(predicted.size() == counted.size());
    for (size_t s = 0; s < counted.size(); ++s) {
      CHECK(counted[s].elements == predicted[s].elements);
      CHECK(counted[s].bytes_sent == predicted[s].bytes_sent);
    }
  }
}

TEST_CASE("split state: only a few all_gathers are under way at a time") {
  Json model = {{"mtfc", 1}, {"dims", {{"batch", 64}, {"io", 32}, {"wide", 32}}}, {"outputs", {"loss"}}};
  model["inputs"]["x"]["dims"] = {"batch", "io"};
  Json ops = Json::array();
  std::string last = "x";
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i), dim = i % 2 ? "io" : "wide";
    model["variables"]["w" + n] = {{"dims", {"io", "wide"}}, {"init", "ones"}};
    model["variables"]["bias" + n] = {{"dims", {dim}}, {"init", "ones"}};
    const Json product = {{"op", "einsum"}, {"in", {last, "w" + n}}, {"dims", {"batch", dim}}};
    ops.push_back({{"out", "h" + n}, {"op", "add"}, {"in", {product, "bias" + n}}});
    last = "h" + n;
  }
  ops.push_back({{"out", "loss"}, {"op", "reduce_mean"}, {"in", last}});
  model["ops"] = ops;
  model["train"] = {
      {"loss", "loss"}, {"shard_state_over", {"a"}}, {"optimizer", {{"kind", "adam"}, {"lr", 1}}}};
  std::vector<Diagnostic> warnings;
  LayoutSources sources;
  sources.mesh = "a:4";
  sources.rules = "batch:a";
  const Program program =
      compile(read_model(model.dump(), "model.json", {}, warnings), read_layout(sources), {});
  int under_way = 0, most = 0, all = 0;
  for (const Step& step : program.find("train")->steps) {
    const bool starts = step.kind() == StepKind::kStart;
    if (!starts && step.kind() != StepKind::kWait) continue;
    if (step.collective().kind != CollectiveKind::kAllGather || step.phase != Phase::kUpdate) continue;
    if (starts)
      most = std::max(most, ++under_way), ++all;
    else
      --under_way;
  }
  CHECK(all == 16);
  CHECK(most >= 2);
  CHECK(most <= 2 + 8);  // two matrices, and vectors, which are small in comparison
}

}  // namespace
}  // namespace mtfc::optimizer_test
