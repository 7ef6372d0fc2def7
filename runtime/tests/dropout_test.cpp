// Dropout is on in training, off in evaluation, the same for every layout, and draws once for value and
// gradient.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "core/compile/pipeline.h"
#include "core/graph/op_registry.h"
#include "core/model/entry_points.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/testing/reference.h"

namespace mtfc::dropout_test {
namespace {

constexpr double kRate = 0.3;
const Dims kDims{{"batch", 101}, {"hidden", 97}};
const WholeTensor kOnes{{DType::kF64, kDims}, std::vector<double>(static_cast<size_t>(elements(kDims)), 1)};

// A model with ones x, dropped twice; the gradient of the sum of the first in x; and a variable, which makes
// its entry point a training.
Model dropping() {
  Model model;
  model.dims = kDims;
  GraphBuilder b;
  const TensorType type{DType::kF64, kDims};
  const auto known = [&](const char* name, TensorId id) {
    b.name(id, name);
    model.outputs.push_back({name, id});
    return id;
  };
  const TensorId x = known("x", b.add_input("x", type));
  model.inputs.push_back({"x", type, "", {}});
  const TensorId seen = b.add_variable("seen", {DType::kF64, {}});
  model.variables.push_back({"seen", {DType::kF64, {}}, Init{}, false, false, {}});
  const CompositeDef& dropout = *find_composite("dropout");
  for (const char* name : {"first", "second"}) {
    b.set_origin({name, {}, Phase::kForward});
    known(name, b.add(dropout, {x}, {{"rate", kRate}}, {name})[0]);
  }
  b.set_origin({"sum", {}, Phase::kForward});
  const TensorId sum = b.op("reduce_sum", {model.outputs[1].tensor});
  known("gradient", b.add_gradients(sum, {x}, {"gradient"})[0]);
  b.mark_from_model(seen);
  model.assignments.push_back({"seen", sum, {}});
  model.graph = std::move(b).build();
  return model;
}

WholeTensors run(const Layout& layout, const char* entry_name, int64_t step) {
  const Program program = compile(dropping(), layout, {});
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  const EntryPoint& entry = *program.find(entry_name);
  executor.load(entry);
  for (const Binding& input : entry.inputs)
    for (size_t device = 0; device < executor.devices(); ++device)
      fill_shard(kOnes, executor.shard(entry, input.value, device));
  executor.run(entry, step);
  return whole_outputs(executor, entry);
}

}  // namespace

TEST_CASE("dropout keeps its share and scales it, with one draw for value and gradient") {
  const WholeTensors train = run({}, "train", 0);
  const std::vector<double>& values = train.at("first").values;
  double kept = 0;
  for (const double value : values) {
    CHECK((value == 0 || value == doctest::Approx(1 / (1 - kRate))));
    kept += value != 0;
  }
  const double count = static_cast<double>(values.size());
  const double deviation = std::sqrt(count * kRate * (1 - kRate));
  CHECK(std::abs(kept - count * (1 - kRate)) < 5 * deviation);
  CHECK(train.at("gradient").values == values);
  CHECK(train.at("second").values != values);
}

TEST_CASE("dropout draws anew in each step, and the same for every layout") {
  const WholeTensors first = run({}, "train", 0), later = run({}, "train", 1);
  CHECK(first.at("first").values != later.at("first").values);
  const EntryGraph train = plain_entry(declared_entry(dropping(), "train"));
  const WholeTensors expected =
      reference_answer(train, {{"x", kOnes}}, {{"seen", {{DType::kF64, {}}, {0}}}}, 1).outputs;
  for (const char* name : {"first", "second", "gradient"})
    CHECK(later.at(name).values == expected.at(name).values);
  for (const Layout& layout : all_rule_sets(Mesh({{"p", 2}, {"q", 3}}), kDims, true)) {
    if (!is_legal(dropping(), layout)) continue;
    CAPTURE(to_string(layout));
    const WholeTensors split = run(layout, "train", 1);
    for (const char* name : {"first", "second", "gradient"})
      CHECK(split.at(name).values == expected.at(name).values);
  }
}

TEST_CASE("dropout is off in evaluation") {
  const WholeTensors evaluate = run({}, "evaluate", 0);
  for (const char* name : {"first", "second", "gradient"})
    CHECK(evaluate.at(name).values == evaluate.at("x").values);
}

TEST_CASE("attention with dropout drops only in training") {
  Model model;
  const TensorType q = {DType::kF64, {{"b", 2}, {"l", 5}, {"k", 3}}},
                   v = {DType::kF64, {{"b", 2}, {"m", 4}, {"k", 3}}};
  GraphBuilder b;
  std::vector<TensorId> in = {b.add_input("q", q), b.add_input("k", v), b.add_input("v", v)};
  model.inputs = {{"q", q, "", {}}, {"k", v, "", {}}, {"v", v, "", {}}};
  const Attributes attributes = {{"over", Dim{"m", 4}}, {"dim", Dim{"k", 3}}};
  Attributes dropping = attributes;
  dropping.set("rate", 0.5);
  const auto known = [&](const std::string& name, TensorId id) {
    b.mark_from_model(id);
    model.outputs.push_back({name, id});
  };
  known("dropped",
        b.add(*find_composite("dropout_attention"), in, dropping, {"dropped", "dropped_total"})[0]);
  known("whole", b.add(op_named("attention"), in, attributes, {"whole", "whole_total"})[0]);
  b.add_variable("seen", {DType::kF64, {}});
  model.variables.push_back({"seen", {DType::kF64, {}}, Init{}, false, false, {}});
  model.assignments.push_back({"seen", b.op("reduce_sum", {model.outputs[0].tensor}), {}});
  model.graph = std::move(b).build();
  const auto answer = [&](const EntryGraph& entry, int64_t step) {
    const auto values = [](const TensorType& type, double scale) {
      WholeTensor tensor{type, std::vector<double>(static_cast<size_t>(elements(type.dims)))};
      for (size_t i = 0; i < tensor.values.size(); ++i)
        tensor.values[i] = std::sin(scale * static_cast<double>(i + 1));
      return tensor;
    };
    return reference_answer(plain_entry(entry),
                            {{"q", values(q, 1)}, {"k", values(v, 2)}, {"v", values(v, 3)}},
                            {{"seen", {{DType::kF64, {}}, {0}}}}, step)
        .outputs;
  };
  const WholeTensors evaluated = answer(entry_named(model, "evaluate", {}), 1);
  CHECK(evaluated.at("dropped").values == evaluated.at("whole").values);
  const WholeTensors trained = answer(declared_entry(model, "train"), 1),
                     later = answer(declared_entry(model, "train"), 2);
  CHECK(trained.at("whole").values == evaluated.at("whole").values);
  CHECK(trained.at("dropped").values != trained.at("whole").values);
  CHECK(later.at("dropped").values != trained.at("dropped").values);
}

}  // namespace mtfc::dropout_test
