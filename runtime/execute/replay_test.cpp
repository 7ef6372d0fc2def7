#include "runtime/execute/replay.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "core/compile/pipeline.h"
#include "core/graph/op_registry.h"
#include "core/testing/settings.h"
#include "core/testing/test_model.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/random_models.h"

namespace mtfc::replay_test {
namespace {

using Rules = std::vector<std::pair<std::string, AxisList>>;
using ProgramFault = std::function<void(Program&)>;
using RecordingFault = std::function<void(Recording&)>;

struct Trial {
  Mesh mesh;
  Rules rules;
  int64_t steps = 1;  // of training
  ProgramFault program_fault = {};
  RecordingFault recording_fault = {};
  double tolerance = 0;
  std::vector<Annotation> annotations = {};
};

Program compiled(const Model& model, const Mesh& mesh, const Rules& rules,
                 const std::vector<Annotation>& annotations = {}) {
  CompileOptions options;
  options.keep_all = true;
  Layout layout{mesh, {}, annotations};
  for (const auto& [dim, axes] : rules) layout.rules.push_back({dim, axes, {}});
  return compile(model, layout, options);
}

Comparison tried(const Model& model, const Trial& trial) {
  const Program whole = compiled(model, {}, {});
  Program split = compiled(model, trial.mesh, trial.rules, trial.annotations);
  if (trial.program_fault) trial.program_fault(split);
  Processes processes = Processes::alone();
  LockstepComm comm(split.mesh(), processes);
  Executor executor(split, comm);
  Recorder recorder(executor);
  Comparison comparison;
  for (const EntryPoint& entry : split.entry_points)
    for (int64_t step = 0; step < (entry.name == "train" ? trial.steps : 1); ++step) {
      Recording recording = recorder.run(entry, step);
      if (trial.recording_fault) trial.recording_fault(recording);
      replay(whole, *whole.find(entry.name), recording, {0, trial.tolerance}, comparison);
    }
  return comparison;
}

// "" where nothing differs.
std::string differing(const Comparison& comparison) {
  if (!comparison.first) return "";
  const Difference& first = *comparison.first;
  return fmt::format("{} {} {}[{}]: {} instead of {}, allowed {}", first.tensor.entry, first.tensor.step,
                     first.tensor.name, first.element, first.found, first.expected, first.allowed);
}

// A fault in the fused operation that makes the value `name`, which becomes another operation.
ProgramFault with_operation(const std::string& name, const std::string& kind) {
  return [=](Program& program) {
    for (EntryPoint& entry : program.entry_points)
      for (Step& step : entry.steps)
        if (auto* fused = step.as<RunFused>())
          for (Step& member : fused->members)
            if (member.name == name) member.as<RunKernel>()->op = &op_named(kind);
  };
}

// A fault in the elements of the value `name` of an entry point, which are multiplied by `factor`.
RecordingFault scaled(const std::string& entry, const std::string& name, double factor) {
  return [=](Recording& recording) {
    if (recording.entry->name != entry) return;
    for (const ValueId id : recording.values.ids()) {
      if (recording.entry->values[id].name != name) continue;
      for (Record& made : recording.values[id]) {
        std::vector<double> numbers = numbers_of(made.value);
        for (double& number : numbers) number *= factor;
        made.value = value_of(made.value.type, numbers);
      }
    }
  };
}

// y = 2 * [0, 1, …, 6], s = the sum of y, best = argmax of y.
Model sums() {
  TestModel model;
  const Dim a{"a", 7};
  model.declare({a});
  const TensorId x = model.op("x", "range", {}, {{"dim", a}, {"dtype", DType::kF32}});
  const TensorId two = model.op("constant", {}, {{"value", 2.0}, {"dtype", DType::kF32}});
  const TensorId y = model.op("y", "mul", {x, two});
  model.output(y);
  model.output(model.op("s", "reduce_sum", {y}));
  model.output(model.op("best", "argmax", {y}, {{"over", Dims{a}}}));
  return model.finished();
}

// Softmax of x w + b, where b is the same for all classes: its gradient is mathematically 0, and Adam divides what
// rounding leaves of it by its own size.
Model shifted_softmax(const std::string& optimizer = "adam") {
  TestModel model;
  const Dim batch{"batch", 24}, in{"in", 10}, classes{"classes", 7};
  model.declare({batch, in, classes});
  const TensorId w = model.variable("w", {in, classes}, true), b = model.variable("b", {}, true);
  const TensorId x = model.op("x", "random_normal", {}, {{"dims", Dims{batch, in}}, {"dtype", DType::kF32}});
  const TensorId z = model.op("z", "einsum", {x, w}, {{"dims", Dims{batch, classes}}});
  const TensorId shifted = model.op("shifted", "add", {z, b});
  const TensorId p = model.composite("p", "softmax", {shifted}, {{"over", Dims{classes}}});
  const TensorId loss = model.op("loss", "reduce_mean", {model.op("q", "square", {p})});
  model.output(loss);
  model.train({loss, optimizer, {{"lr", 0.1}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}}});
  Model made = model.finished();
  for (VariableDecl& variable : made.variables) variable.init = Init{InitKind::kNormal, 0.7, 0};
  return made;
}

const std::vector<std::pair<Mesh, Rules>> kLayouts = {
    {Mesh({{"p", 3}}), {{"batch", {0}}}},
    {Mesh({{"p", 5}}), {{"classes", {0}}}},
    {Mesh({{"p", 2}, {"q", 2}}), {{"batch", {1}}, {"in", {0}}}},
    {Mesh({{"p", 4}}), {{"in", {0}}}}};

// A random model, with its inputs and variables as they are drawn.
Comparison tried(const RandomCase& random) {
  WholeTensors leaves;
  const Model model = model_of(random, leaves);
  CompileOptions options;
  options.keep_all = true;
  const Program whole = compile(model, {}, options), split = compile(model, random.layout, options);
  Processes processes = Processes::alone();
  LockstepComm comm(split.mesh(), processes);
  Executor executor(split, comm);
  Recorder recorder(executor);
  Comparison comparison;
  const auto give = [&](const std::string& name, const LocalShard& shard) {
    if (const auto leaf = leaves.find(name); leaf != leaves.end())
      fill(shard, value_of(shard.type, leaf->second.values));
  };
  for (const EntryPoint& entry : split.entry_points) {
    executor.load(entry);
    for (size_t device = 0; device < executor.devices(); ++device) {
      for (const Binding& input : entry.inputs) give(input.name, executor.shard(entry, input.value, device));
      for (size_t v = 0; v < split.variables.size() && entry.name == "init"; ++v)
        give(split.variables[v].decl.name, executor.variable(v, device));
    }
    const Recording recording = recorder.run(entry, 0);
    replay(whole, *whole.find(entry.name), recording, {}, comparison);
  }
  return comparison;
}

// "out" is x to which x is added in three rounds, and "copy" the same tensor. Each round gives the loop x again, as
// "same".
Model tripled() {
  const TensorType type{DType::kF32, {{"a", 6}}};
  const auto made = [](GraphBuilder& b, const std::string& name, TensorId id) {
    b.name(id, name);
    b.mark_from_model(id);
    return id;
  };
  GraphBuilder body;
  const TensorId carried = body.add_input(leaf_name(0), type);
  body.add_input(leaf_name(1), type);
  const TensorId kept = body.add_input(leaf_name(2), type);
  const TensorId sum = made(body, "sum", body.op("add", {carried, kept}));
  const TensorId same = made(body, "same", body.op("identity", {kept}));
  GraphBuilder b;
  const TensorId x = made(b, "x", b.op("range", {}, {{"dim", type.dims[0]}, {"dtype", type.dtype}}));
  const LoopPart part{std::move(body).build(), {sum, same}};
  const std::vector<TensorId> results =
      b.add_loop(std::make_shared<GraphLoop>(GraphLoop{{}, part, 3, 0}), {x, x, x});
  const TensorId out = made(b, "out", results[0]), last = made(b, "last", results[1]);
  const TensorId copy = made(b, "copy", b.op("identity", {out}));
  Model model;
  model.dims = type.dims;
  model.outputs = {{"out", out}, {"copy", copy}, {"last", last}};
  model.graph = std::move(b).build();
  return model;
}

}  // namespace

TEST_CASE("a right program agrees with that of one device") {
  const Comparison comparison = tried(sums(), {Mesh({{"p", 3}}), {{"a", {0}}}});
  CHECK(differing(comparison) == "");
  CHECK(comparison.tensors >= 6);
}

TEST_CASE("a wrong number is found where it comes up first") {
  Trial trial{Mesh({{"p", 3}}), {{"a", {0}}}, 1, with_operation("y", "add")};
  const Comparison comparison = tried(sums(), trial);
  REQUIRE(comparison.first);
  CHECK(comparison.first->tensor.name == "y");
  CHECK(comparison.first->element == 0);
  CHECK(comparison.first->expected == 0);
  CHECK(comparison.first->found == 2);
  trial.tolerance = 10;  // relative to the element, which is 0
  CHECK(tried(sums(), trial).first->tensor.name == "y");
  const Trial slight{Mesh({{"p", 3}}), {{"a", {0}}}, 1, {}, scaled("evaluate", "y", 1.01), 0.1};
  CHECK(differing(tried(sums(), slight)) == "");  // within such a large tolerance
}

TEST_CASE("a wrong number is found in a copy that is made in other rounds than its tensor") {
  for (const auto& [name, times] : std::vector<std::pair<std::string, size_t>>{{"copy", 1}, {"same", 3}})
    for (size_t wrong = 0; wrong <= times; ++wrong) {
      CAPTURE(name);
      CAPTURE(wrong);
      size_t made = 0;
      const auto fault = [&](Recording& recording) {
        for (const ValueId id : recording.values.ids()) {
          if (tensor_name(recording.entry->values[id].name) != name) continue;
          made = recording.values[id].size();
          if (wrong == made) continue;
          HostTensor& value = recording.values[id][wrong].value;
          std::vector<double> numbers = numbers_of(value);
          numbers[1] += 1;
          value = value_of(value.type, numbers);
        }
      };
      Trial trial{Mesh({{"p", 2}}), {}, 1, {}, fault};
      trial.annotations = {{name, {{"a", {0}, {}}}, {}}};
      const Comparison comparison = tried(tripled(), trial);
      CHECK(made == times);
      if (wrong == times) {
        CHECK(differing(comparison) == "");
      } else {
        REQUIRE(comparison.first);
        CHECK(comparison.first->tensor.name == name);
        CHECK(comparison.first->element == 1);
      }
    }
}

TEST_CASE("a wrong reduction is found in the tensor that it makes") {
  bool changed = false;
  const auto fault = [&](Program& program) {
    for (Step& step : program.entry_points.back().steps)
      if (auto* start = step.as<StartCollective>(); start && step.name == "s") {
        start->collective.reduce = ReduceKind::kMax;
        changed = true;
      }
  };
  const Comparison comparison = tried(sums(), {Mesh({{"p", 3}}), {{"a", {0}}}, 1, fault});
  REQUIRE(changed);
  REQUIRE(comparison.first);
  CHECK(comparison.first->tensor.name == "s");
  CHECK(comparison.first->expected == 42);
}

TEST_CASE("copies that differ are found even where the first of them is right") {
  const auto fault = [](Recording& recording) {
    for (const ValueId id : recording.values.ids())
      if (recording.entry->values[id].name == "s") recording.values[id].back().torn.push_back(0);
  };
  const Comparison comparison = tried(sums(), {Mesh({{"p", 3}}), {{"a", {0}}}, 1, {}, fault});
  REQUIRE(comparison.first);
  CHECK(comparison.first->tensor.name == "s");
  CHECK(comparison.first->allowed < 0);
}

TEST_CASE("an output that no operation makes is compared, and a wrong one is found") {
  TestModel model;
  const Dim a{"a", 6}, b{"b", 6}, c{"c", 2}, d{"d", 3};
  model.declare({b, c, d});
  const TensorId v = model.variable("v", {a}), w = model.variable("w", {a});
  model.output(model.op("renamed", "rename", {v}, {{"map", std::vector<Renaming>{{"a", b}}}}));
  model.output(model.op("reshaped", "reshape", {w}, {{"dims", Dims{c, d}}}));
  model.op("other", "rename", {w}, {{"map", std::vector<Renaming>{{"a", b}}}});
  model.output(model.op("sum", "reduce_sum",
                        {model.op("other2", "rename", {w}, {{"map", std::vector<Renaming>{{"a", b}}}})}));
  Model made = model.finished();
  for (VariableDecl& variable : made.variables) variable.init = Init{InitKind::kNormal, 1, 0};
  const Trial trial{Mesh({{"p", 2}}), {{"a", {0}}, {"b", {0}}}};
  const Comparison right = tried(made, trial);
  CHECK(differing(right) == "");
  CHECK(right.tensors >= 3);
  // The wrong tensor under the right name, and a part that another device holds.
  for (const ProgramFault& fault :
       std::vector<ProgramFault>{[](Program& program) {
                                   EntryPoint& entry = program.entry_points.back();
                                   for (const ValueId id : entry.values.ids())
                                     if (entry.values[id].name == "other2") entry.outputs[0].value = id;
                                 },
                                 [](Program& program) {
                                   EntryPoint& entry = program.entry_points.back();
                                   entry.values[entry.outputs[0].value].sharding.dims[0].clear();
                                 }}) {
    Trial faulty = trial;
    faulty.program_fault = fault;
    const Comparison wrong = tried(made, faulty);
    REQUIRE(wrong.first);
    CHECK(wrong.first->tensor.name == "renamed");
  }
}

TEST_CASE("a gradient that is mathematically 0 raises no alarm, however the optimizer divides it") {
  for (const auto& [mesh, rules] : kLayouts) {
    const Comparison comparison = tried(shifted_softmax(), {mesh, rules, 4});
    CHECK(differing(comparison) == "");
  }
}

TEST_CASE("faults in a gradient and in the optimizer are found, in the tensor that they make") {
  for (const auto& [mesh, rules] : kLayouts) {
    const Comparison gradient =
        tried(shifted_softmax(), {mesh, rules, 2, {}, scaled("train", "w/grad", 1 + 1e-4)});
    REQUIRE(gradient.first);
    CHECK(gradient.first->tensor.name == "w/grad");
    const Comparison optimizer =
        tried(shifted_softmax(), {mesh, rules, 2, with_operation("w/adam/sub", "add")});
    REQUIRE(optimizer.first);
    CHECK(optimizer.first->tensor.entry == "train");
    CHECK(optimizer.first->tensor.name == "w/adam/sub");
    CHECK(optimizer.first->allowed > 0);
  }
}

// The smallest relative errors that are found: of an element-wise operation a few roundings of f32, 1.2e-7; of a sum
// the same relative to the magnitudes of its terms.
TEST_CASE("small errors are found in gradients and updates of ordinary size") {
  const auto smallest = [](const std::string& name) {
    for (double error = 1e-8; error < 1; error *= 2) {
      const Trial trial{Mesh({{"p", 3}}), {{"batch", {0}}}, 1, {}, scaled("train", name, 1 + error)};
      if (tried(shifted_softmax(), trial).first) return error;
    }
    return 1.0;
  };
  CHECK(smallest("w/grad") < 4e-6);
  CHECK(smallest("w/adam/sub") < 4e-6);
  CHECK(smallest("p") < 4e-6);
}

TEST_CASE("the terms of a sum decide how exact it is, not what is left of them") {
  TestModel model;
  const Dim a{"a", 1001};
  model.declare({a});
  const TensorId x = model.op("x", "random_normal", {}, {{"dims", Dims{a}}, {"dtype", DType::kF64}});
  const TensorId back = model.op("back", "neg", {model.op("turned", "reverse", {x}, {{"dim", a}})});
  // x + (-x), in another order, is 0 but for rounding; in f32 first, in f64 afterwards.
  const TensorId both = model.op(
      "both", "add",
      {model.op("e", "exp", {x}),
       model.op("f", "neg",
                {model.op("g", "exp",
                          {model.op("h", "neg", {model.op("i", "reverse", {back}, {{"dim", a}})})})})});
  const TensorId ones = model.op("ones", "exp", {model.op("zero", "sub", {x, x})});
  model.output(model.op("cancelled", "einsum", {both, ones}, {{"dims", Dims{}}}));
  const TensorId e32 = model.op("e32", "cast", {model.op("k", "sin", {x})}, {{"dtype", DType::kF32}});
  const TensorId s32 = model.op("s32", "reduce_sum", {e32});
  const TensorId s64 = model.op("s64", "cast", {s32}, {{"dtype", DType::kF64}});
  model.output(model.op("norm", "square", {s64}));
  const Model made = model.finished();
  for (const int64_t parts : {2, 3, 7})
    CHECK(differing(tried(made, {Mesh({{"p", parts}}), {{"a", {0}}}})) == "");
}

// MTFC_CASES and MTFC_SEED choose how many cases and which.
TEST_CASE("random models under random layouts raise no alarm") {
  const int64_t cases = setting("MTFC_CASES", 200), first = first_seed();
  for (int64_t seed = first; seed < first + cases; ++seed) {
    const RandomCase random = random_case(static_cast<uint64_t>(seed));
    const Comparison comparison = tried(random);
    CAPTURE(to_string(random));
    CHECK(differing(comparison) == "");
    CHECK(comparison.tensors > 0);
  }
}

}  // namespace mtfc::replay_test
