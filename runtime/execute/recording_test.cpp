#include "runtime/execute/recording.h"

#include <doctest/doctest.h>

#include "core/passes/pipeline.h"
#include "runtime/comm/comm_lockstep.h"

namespace mtfc::recording_test {
namespace {

// y = 2 * [0, 1, …, 6], s = the sum of y, best = argmax of y.
Model example() {
  Model model;
  GraphBuilder b;
  const auto named = [&](const char* name, TensorId id) {
    b.name(id, name);
    b.mark_from_model(id);
    model.outputs.push_back({name, id});
    return id;
  };
  const Dim a{"a", 7};
  model.dims = {a};
  const TensorId x = b.op("range", {}, {{"dim", a}, {"dtype", DType::kF32}});
  const TensorId y = named("y", b.op("mul", {x, b.constant(2, DType::kF32)}));
  named("s", b.op("reduce_sum", {y}));
  named("best", b.op("argmax", {y}, {{"over", Dims{a}}}));
  model.graph = std::move(b).build();
  return model;
}

std::vector<RecordedTensor> recorded(const Program& program) {
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  Recorder recorder(executor);
  recorder.run(*program.find("evaluate"), 0);
  return recorder.tensors();
}

Program split() {
  return compile(example(), {Mesh({{"p", 3}}), {{"a", {0}, {}}}}, {});
}

std::vector<Step>& steps(Program& program) {
  return program.entry_points.back().steps;
}

std::vector<RecordedTensor> expected() {
  return recorded(compile(example(), {}, {}));
}

}  // namespace

TEST_CASE("a right program agrees with that of one device") {
  const std::vector<RecordedTensor> found = recorded(split());
  const Comparison comparison = compare(expected(), found, 0);
  CHECK(comparison.tensors == 3);
  CHECK_FALSE(comparison.first);
}

TEST_CASE("a wrong number is found where it comes up first") {
  Program program = split();
  for (Step& step : steps(program))
    if (auto* fused = step.as<RunFused>())
      for (Step& member : fused->members)
        if (member.attributes().has("value") && member.attributes().get<double>("value") == 2)
          member.as<RunKernel>()->attributes.set("value", 2.01);
  const std::vector<RecordedTensor> found = recorded(program);
  const Comparison comparison = compare(expected(), found, 0);
  REQUIRE(comparison.first);
  CHECK(comparison.first->tensor->name == "y");
  CHECK(comparison.first->element == 1);
  CHECK(comparison.first->expected == 2);
  CHECK(comparison.first->found == doctest::Approx(2.01));
  const Comparison loose = compare(expected(), found, 0.1);
  CHECK_FALSE(loose.first.has_value());  // within such a large tolerance
}

TEST_CASE("a wrong reduction is found in the tensor that it makes") {
  Program program = split();
  bool changed = false;
  for (Step& step : steps(program))
    if (auto* start = step.as<StartCollective>(); start && step.name == "s") {
      start->collective.reduce = ReduceKind::kMax;
      changed = true;
    }
  REQUIRE(changed);
  const std::vector<RecordedTensor> found = recorded(program);
  const Comparison comparison = compare(expected(), found, 0);
  REQUIRE(comparison.first);
  CHECK(comparison.first->tensor->name == "s");
  CHECK(comparison.first->expected == 42);
}

TEST_CASE("copies that differ are found even where the last of them is right") {
  std::vector<RecordedTensor> found = expected();
  found[1].torn = 0;
  const Comparison comparison = compare(expected(), found, 0);
  REQUIRE(comparison.first);
  CHECK(comparison.first->tensor == &found[1]);
  CHECK(comparison.first->allowed < 0);
}

TEST_CASE("what is made in every round is compared round by round, and at the end") {
  const auto rounds = [](const std::vector<double>& values) {
    std::vector<RecordedTensor> made;
    for (const double value : values)
      made.push_back({"evaluate", 0, "s", "identity", "", {DType::kF64, {}}, {value}, 0, {}});
    return made;
  };
  const std::vector<RecordedTensor> right = rounds({1, 2, 4}), wrong = rounds({1, 3, 4}),
                                    longer = rounds({1, 2, 4, 8}), shorter = rounds({1, 2});
  CHECK_FALSE(compare(right, rounds({1, 2, 4}), 0).first.has_value());
  CHECK(compare(right, wrong, 0).first->tensor == &wrong[1]);
  CHECK(compare(right, longer, 0).first->tensor == &longer[3]);
  CHECK(compare(right, shorter, 0).first->tensor == &shorter[1]);
  CHECK(compare(right, shorter, 0).first->expected == 4);
}

}  // namespace mtfc::recording_test
