// Communication and arithmetic that are known from the Mesh-TensorFlow paper and README, both predicted and
// counted in a run; and values that are known by hand.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cmd/files/files.h"
#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/tensors/relayout.h"
#include "core/testing/checkout.h"
#include "formats/data/data_spec.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"

namespace mtfc::known_answers_test {
namespace {

struct Trial {
  Program program;
  CostReport predicted;
};

// Compiles a model of testdata/, runs its main entry point once in lockstep, and checks step by step that the
// counts equal the predictions.
Trial tried(const std::string& path, const std::string& mesh, const std::string& rules,
            const std::vector<std::string>& sets) {
  const std::string file = std::string(kSourceFolder) + "/" + path;
  std::vector<Diagnostic> warnings;
  const Model model = read_model(read_text(file, "model"), file, sets, warnings);
  LayoutSources sources;
  sources.mesh = mesh;
  sources.rules = rules;
  Trial trial{compile(model, read_layout(sources), {}), {}};
  const EntryPoint& entry =
      trial.program.find("train") ? *trial.program.find("train") : *trial.program.find("evaluate");
  const std::vector<StepCount> predicted = predicted_counts(trial.program, entry);
  trial.predicted = cost_report(trial.program, entry, predicted);

  Processes processes = Processes::alone();
  LockstepComm comm(trial.program.mesh(), processes);
  Executor executor(trial.program, comm);
  if (const EntryPoint* init = trial.program.find("init")) executor.run(*init, 0);
  std::vector<InputData> data;
  for (const InputDecl& input : model.inputs)
    data.push_back(read_input_data(
        {input.name},
        input.source.empty() ? (is_float(input.type.dtype) ? "random:normal" : "random:int,lo=0,hi=10")
                             : input.source,
        lookup_of(model.dims)));
  executor.load(entry);
  Feed feed(executor, entry, data, 0);
  feed.fill_training(0);
  executor.run(entry, 0);
  const std::vector<StepCount> counted = executor.counts(entry);
  REQUIRE(counted.size() == predicted.size());
  for (size_t s = 0; s < counted.size(); ++s) {
    INFO(fmt::format("mesh {} layout {} step {} {}", mesh, rules, s, entry.steps[s].name));
    CHECK(counted[s].flops == predicted[s].flops);
    CHECK(counted[s].elements == predicted[s].elements);
    CHECK(counted[s].bytes_sent == predicted[s].bytes_sent);
    if (entry.steps[s].multiplies()) CHECK(counted[s].flops_total == predicted[s].flops_total);
  }
  return trial;
}

int64_t elements_over(const CostReport& report, const std::string& axes) {
  const auto at = report.communication.by_axis.find(axes);
  return at == report.communication.by_axis.end() ? 0 : at->second.elements;
}

TEST_CASE("the example of Mesh-TensorFlow's README") {
  const std::string model = "testdata/mnist_readme/model.json";
  const Trial one = tried(model, "all:1", "", {});
  CHECK(one.predicted.arithmetic.einsum_useful == 327270400);
  CHECK(one.predicted.arithmetic.einsum_per_device == 327270400);
  CHECK(one.predicted.communication.total.count == 0);

  const Trial data_parallel = tried(model, "p:4", "batch:p", {});
  CHECK(data_parallel.predicted.arithmetic.einsum_useful == 327270400);
  CHECK(data_parallel.predicted.arithmetic.einsum_total == 327270400);
  CHECK(data_parallel.predicted.communication.total.elements == 813056 + 1);

  const Trial model_parallel = tried(model, "p:4", "hidden:p", {});
  CHECK(model_parallel.predicted.arithmetic.einsum_total == 327270400);
  CHECK(model_parallel.predicted.communication.total.elements == 1000);

  const Trial both = tried(model, "r:2,c:2", "batch:r,hidden:c", {});
  CHECK(elements_over(both.predicted, "c") == 500);
  CHECK(elements_over(both.predicted, "r") == 406528 + 1);
  CHECK(both.predicted.communication.by_axis.size() == 2);
}

int64_t up(int64_t n, int64_t parts) {
  return (n + parts - 1) / parts;
}

TEST_CASE("the bundled model of two layers all-reduces as its document says") {
  const int64_t b = 64, io = 32, h = 128;
  const auto elements = [&](const std::string& mesh, const std::string& rules) {
    return tried("models/two_layer.json", mesh, rules, {"batch=64", "io=32", "hidden=128"})
        .predicted.communication.total.elements;
  };
  CHECK(elements("all:4", "") == 0);
  CHECK(elements("all:4", "batch:all") == 2 * io * h + h + 1);
  CHECK(elements("all:4", "hidden:all") == b * io);
  CHECK(elements("rows:2,cols:4", "batch:rows,hidden:cols") == b * io / 2 + (2 * io * h + h) / 4 + 1);
  CHECK(elements("rows:2,cols:4,planes:8", "batch:rows,hidden:cols,io:planes") ==
        2 * b * h / (2 * 4) + b * io / (2 * 8) + 2 * io * h / (8 * 4) + h / 4 + 1);
}

TEST_CASE("two fully-connected layers: elements all-reduced follow the paper's formulas, uneven sizes too") {
  const std::string model = "testdata/two_layer_gradients/model.json";
  for (const auto& [b, io, h] :
       std::vector<std::tuple<int64_t, int64_t, int64_t>>{{64, 32, 128}, {13, 7, 11}, {3, 5, 2}}) {
    const std::vector<std::string> sets = {fmt::format("batch={}", b), fmt::format("io={}", io),
                                           fmt::format("hidden={}", h)};
    const auto elements = [&](const std::string& mesh, const std::string& rules) {
      return tried(model, mesh, rules, sets).predicted.communication.total.elements;
    };
    CHECK(elements("all:4", "") == 0);
    CHECK(elements("all:4", "batch:all") == io * h * 2 + h);
    CHECK(elements("all:4", "hidden:all") == 2 * b * io);
    const auto imbalance = [&](const std::string& rules) {
      return tried(model, "all:4", rules, sets).predicted.arithmetic.imbalance;
    };
    CHECK(imbalance("") == doctest::Approx(1));
    CHECK(imbalance("batch:all") ==
          doctest::Approx(4 * static_cast<double>(up(b, 4)) / static_cast<double>(b)));
    CHECK(imbalance("hidden:all") ==
          doctest::Approx(4 * static_cast<double>(up(h, 4)) / static_cast<double>(h)));
    const int64_t br = up(b, 2), hc = up(h, 3), ip = up(io, 2);
    CHECK(elements("rows:2,cols:3", "batch:rows,hidden:cols") == 2 * br * io + 2 * io * hc + hc);
    CHECK(elements("rows:2,cols:3,planes:2", "batch:rows,hidden:cols,io:planes") ==
          2 * br * hc + 2 * br * ip + 2 * ip * hc + hc);
  }
  // The empty layout does everything on every device.
  CHECK(tried(model, "all:4", "", {}).predicted.arithmetic.duplication == doctest::Approx(4.0));
}

template <typename T>
void put_shard(const LocalShard& shard, const Dims& dims, std::vector<double>& whole) {
  for (const Run& run : common_runs(dims, shard.box, dims, whole_box(dims)))
    for (int64_t k = 0; k < run.length; ++k)
      whole[static_cast<size_t>(run.to + k)] =
          static_cast<double>(reinterpret_cast<const T*>(shard.data)[run.from + k]);
}

// The outputs of an evaluation without inputs, f32 and i32, assembled from all devices.
std::map<std::string, std::vector<double>> outputs_of(const std::string& path, const std::string& mesh,
                                                      const std::string& rules) {
  const std::string file = std::string(kSourceFolder) + "/" + path;
  std::vector<Diagnostic> warnings;
  LayoutSources sources;
  sources.mesh = mesh;
  sources.rules = rules;
  const Program program =
      compile(read_model(read_text(file, "model"), file, {}, warnings), read_layout(sources), {});
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  const EntryPoint& entry = *program.find("evaluate");
  executor.run(entry, 0);
  std::map<std::string, std::vector<double>> outputs;
  for (const Binding& output : entry.outputs) {
    const TensorType& type = entry.values[output.value].type;
    std::vector<double>& whole = outputs[output.name];
    whole.resize(static_cast<size_t>(elements(type.dims)));
    for (size_t device = 0; device < executor.devices(); ++device) {
      const LocalShard shard = executor.shard(entry, output.value, device);
      type.dtype == DType::kI32 ? put_shard<int32_t>(shard, type.dims, whole)
                                : put_shard<float>(shard, type.dims, whole);
    }
  }
  return outputs;
}

TEST_CASE("the largest of a split dimension are found in place, and their gradient goes back there") {
  using Numbers = std::vector<double>;
  for (const char* rules : {"", "a:r", "a:r,column:c", "column:r,best:c", "a:r,best:c", "a:r+c"}) {
    CAPTURE(rules);
    const auto outputs = outputs_of("testdata/top_k_gradients/model.json", "r:2,c:2", rules);
    CHECK(outputs.at("x") == Numbers{1, 10, 2, 9, 3, 8, 4, 7, 5, 6, 6, 5});
    CHECK(outputs.at("values") == Numbers{6, 5, 10, 9});
    CHECK(outputs.at("indices") == Numbers{5, 4, 0, 1});
    CHECK(outputs.at("dx") == Numbers{0, 13, 0, 14, 0, 0, 0, 0, 12, 0, 11, 0});
  }
}

TEST_CASE("a shift with wrap over a split dimension brings the last elements to the front") {
  for (const char* rules : {"", "n:p"}) {
    const auto outputs = outputs_of("testdata/shift_wrap/model.json", "p:4", rules);
    CHECK(outputs.at("y") == std::vector<double>{5, 6, 7, 0, 1, 2, 3, 4});
  }
  // Every device holds two elements, and both are needed by others.
  CHECK(tried("testdata/shift_wrap/model.json", "p:4", "n:p", {}).predicted.communication.total.elements ==
        2);
}

TEST_CASE("the gradient of x^2 + x is 2x + 1 times what arrives") {
  using Numbers = std::vector<double>;
  for (const char* rules : {"", "a:r", "a:r+c"}) {
    const auto outputs = outputs_of("testdata/polynomial_gradient/model.json", "r:2,c:2", rules);
    CHECK(outputs.at("x") == Numbers{5, 10});
    CHECK(outputs.at("y") == Numbers{30, 110});
    CHECK(outputs.at("dx") == Numbers{22, 63});
  }
}

// Layers alternate between two widths, so that splitting one width splits every matrix once.
std::string perceptron(int layers) {
  std::string variables, ops, previous = "x";
  for (int i = 0; i < layers; ++i) {
    const char *a = i % 2 ? "h1" : "h0", *b = i % 2 ? "h0" : "h1";
    variables += fmt::format(R"({}"w{}": {{"dims": ["{}", "{}"], "init": {{"normal": 0.02}}}})",
                             i ? ", " : "", i, a, b);
    ops += fmt::format(
        R"({{"out": "y{0}", "op": "relu", "in": {{"op": "einsum", "in": ["{1}", "w{0}"], "over": "{2}"}}}}, )",
        i, previous, a);
    previous = fmt::format("y{}", i);
  }
  return fmt::format(R"({{"mtfc": 1, "dims": {{"batch": 4096, "h0": 2048, "h1": 2048}},
    "inputs": {{"x": {{"dims": ["batch", "h0"]}}}}, "variables": {{{}}},
    "ops": [{}{{"out": "loss", "op": "reduce_mean", "in": "{}"}}],
    "train": {{"loss": "loss", "optimizer": {{"kind": "sgd", "lr": 0.1}}}}, "outputs": ["loss"]}})",
                     variables, ops, previous);
}

TEST_CASE("a program has the same steps for 2 devices and for 4096") {
  std::vector<Diagnostic> warnings;
  const Model model = read_model(perceptron(1000), "perceptron", {}, warnings);
  const auto steps = [&](const std::string& mesh, const std::string& rules) {
    LayoutSources sources;
    sources.mesh = mesh;
    sources.rules = rules;
    return compile(model, read_layout(sources), {}).find("train")->steps.size();
  };
  CHECK(steps("a:2", "batch:a") == steps("a:4096", "batch:a"));
  CHECK(steps("a:2,b:2", "batch:a,h0:b") == steps("a:64,b:64", "batch:a,h0:b"));
  CHECK(steps("a:2", "h1:a") == steps("a:2048", "h1:a"));
}

}  // namespace
}  // namespace mtfc::known_answers_test
