#include "core/lower/schedule.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/graph/op_registry.h"
#include "core/testing/steps_by_hand.h"

namespace mtfc::schedule_test {
namespace {

// Steps in the order in which they are added. Every value is a vector of `elements` numbers, by default of 4.
class Steps {
 public:
  explicit Steps(int64_t elements = 4) : elements_(elements) {}

  ValueId input(const std::string& name) {
    const ValueId id = add_value(name);
    made_.entry.inputs.push_back({name, id});
    return id;
  }
  ValueId kernel(const std::string& name, const std::vector<ValueId>& operands,
                 Phase phase = Phase::kForward) {
    Step step = step_for(name, operands);
    step.action = RunKernel{&op_named("identity")};
    step.phase = phase;
    const ValueId result = step.outputs[0];
    made_.entry.steps.push_back(step);
    return result;
  }
  // The new value of a variable, by its gradient.
  void update(const std::string& name, ValueId variable, ValueId gradient) {
    made_.assignments.emplace_back(variable, kernel(name, {variable, gradient}, Phase::kUpdate));
  }
  ValueId all_reduce(const std::string& name, ValueId operand) {
    return collective(name, {operand}, CollectiveKind::kAllReduce);
  }
  ValueId collective(const std::string& name, const std::vector<ValueId>& operands,
                     CollectiveKind kind = CollectiveKind::kExchange) {
    Step step = step_for(name, operands);
    const Collective collective{kind, {0}};
    const ValueId result = step.outputs[0];
    Step wait = step;
    step.action = StartCollective{collective, {}};
    wait.action = AwaitCollective{collective, made_.entry.steps.add(step)};
    made_.entry.steps.push_back(wait);
    return result;
  }
  std::string scheduled() && {
    std::string text;
    const Mesh mesh({{"p", 2}});
    for (const Step& step : start_ahead(schedule(std::move(made_), mesh), mesh).entry.steps)
      text += (step.kind() == StepKind::kStart  ? "start "
               : step.kind() == StepKind::kWait ? "wait "
                                                : "") +
              step.name + "; ";
    return text;
  }

 private:
  ValueId add_value(const std::string& name) {
    made_.variable_of.push_back(-1);
    return made_.entry.values.add(
        {name, {DType::kF32, {{"m", elements_}}}, replicated(1), kNoBuffer, false, kNoValue});
  }
  Step step_for(const std::string& name, const std::vector<ValueId>& operands) {
    Step step;
    step.name = name;
    step.inputs = operands;
    step.outputs = {add_value(name)};
    return step;
  }
  int64_t elements_;
  PartitionedEntry made_;
};

// The step that reads variables besides those of the layers.
enum class OtherReader { kNone, kBackward, kUpdate };

// The backward pass of layers 3 to 0 with gradients g3 to g0 of variables w3 to w0, which it reads in this order. The
// other reader reads all variables at the end of the backward pass, or reads w3 for the update of w0.
std::string backward_pass(int64_t elements, OtherReader other = OtherReader::kNone) {
  Steps steps(elements);
  const std::vector<ValueId> w = {steps.input("w0"), steps.input("w1"), steps.input("w2"), steps.input("w3")};
  std::vector<ValueId> sums(4);
  ValueId last = steps.kernel("loss", w);
  for (const int layer : {3, 2, 1, 0}) {
    const std::string name = std::to_string(layer);
    const size_t i = static_cast<size_t>(layer);
    sums[i] = steps.all_reduce("g" + name, steps.kernel("g" + name, {last}, Phase::kBackward));
    last = steps.kernel("b" + name, {last, w[i]}, Phase::kBackward);
  }
  if (other == OtherReader::kBackward) steps.kernel("norm", w, Phase::kBackward);
  if (other == OtherReader::kUpdate)
    sums[0] = steps.kernel("mix", {sums[0], steps.kernel("old w3", {w[3]}, Phase::kUpdate)}, Phase::kUpdate);
  for (size_t i = 0; i < 4; ++i) steps.update("u" + std::to_string(i), w[i], sums[i]);
  return std::move(steps).scheduled();
}

TEST_CASE("a collective that awaits two others, one of which makes room for the other, starts each once") {
  Steps steps;
  const ValueId x = steps.input("x");
  const ValueId a0 = steps.kernel("a0", {x}), z0 = steps.kernel("z0", {x}), b0 = steps.kernel("b0", {x});
  const ValueId b = steps.collective("b", {b0}), a = steps.collective("a", {a0});
  const ValueId z = steps.collective("z", {z0}), t = steps.collective("t", {a, b});
  steps.kernel("y", {t, z});
  // a is awaited to make room for b. What waits for both then starts b.
  CHECK(std::move(steps).scheduled() ==
        "a0; start a; z0; start z; b0; wait a; start b; wait b; start t; wait z; wait t; y; ");
}

TEST_CASE(
    "updates run as soon as their gradients take more than twice the memory of one, and nothing else reads "
    "the variable") {
  constexpr int64_t kMiB = int64_t{1} << 18;  // elements
  CHECK(backward_pass(kMiB) ==
        "loss; g3; start g3; b3; g2; start g2; b2; g1; start g1; b1; wait g3; u3; g0; start g0; b0; "
        "wait g2; u2; wait g1; u1; wait g0; u0; ");
  // Gradients that take little memory are applied at the end, as are those of variables that are read there.
  const std::string at_the_end =
      "loss; g3; start g3; b3; g2; start g2; b2; g1; start g1; b1; g0; start g0; b0; "
      "wait g3; u3; wait g2; u2; wait g1; u1; wait g0; u0; ";
  CHECK(backward_pass(kMiB - 1) == at_the_end);
  std::string with_norm = at_the_end;
  with_norm.insert(with_norm.find("wait g3"), "norm; ");
  CHECK(backward_pass(kMiB, OtherReader::kBackward) == with_norm);
}

TEST_CASE(
    "an early update comes after other updates' steps that read the old value, so that it can take its "
    "place") {
  CHECK(backward_pass(int64_t{1} << 18, OtherReader::kUpdate) ==
        "loss; g3; start g3; b3; g2; start g2; b2; g1; start g1; b1; old w3; wait g3; u3; g0; start g0; b0; "
        "wait g2; u2; wait g1; u1; wait g0; mix; u0; ");
}

TEST_CASE("the cast of a reduced gradient waits for the update, and one that is needed before does not") {
  Steps steps;
  const ValueId w = steps.input("w"), x = steps.input("x");
  const ValueId sum = steps.all_reduce("g", steps.kernel("g", {x}, Phase::kBackward));
  const ValueId other = steps.all_reduce("h", steps.kernel("h", {x}, Phase::kBackward));
  const ValueId cast = steps.kernel("cast g", {sum}, Phase::kBackward);
  const ValueId needed = steps.kernel("cast h", {other}, Phase::kBackward);
  steps.kernel("b", {x}, Phase::kBackward);
  steps.kernel("reads", {needed}, Phase::kBackward);
  steps.update("u", w, cast);
  CHECK(std::move(steps).scheduled() ==
        "g; start g; h; start h; wait h; cast h; b; reads; wait g; cast g; u; ");
}

}  // namespace
}  // namespace mtfc::schedule_test
