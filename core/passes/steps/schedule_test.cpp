#include "core/passes/steps/schedule.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/graph/op_registry.h"
#include "core/testing/steps_by_hand.h"

namespace mtfc::schedule_test {
namespace {

// Steps in the order in which they are added. Every value is a vector of 4 elements.
class Steps {
 public:
  ValueId input(const std::string& name) {
    const ValueId id = add_value(name);
    made_.entry.inputs.push_back({name, id});
    return id;
  }
  ValueId kernel(const std::string& name, const std::vector<ValueId>& operands) {
    Step step = step_for(name, operands);
    step.action = RunKernel{&op_named("identity")};
    const ValueId result = step.outputs[0];
    made_.entry.steps.push_back(step);
    return result;
  }
  ValueId collective(const std::string& name, const std::vector<ValueId>& operands) {
    Step step = step_for(name, operands);
    const Collective collective{CollectiveKind::kExchange, {0}};
    const ValueId result = step.outputs[0];
    Step wait = step;
    step.action = StartCollective{collective, {}};
    wait.action = AwaitCollective{collective, made_.entry.steps.add(step)};
    made_.entry.steps.push_back(wait);
    return result;
  }
  std::string scheduled() && {
    std::string text;
    for (const Step& step : schedule(std::move(made_), Mesh({{"p", 2}})).entry.steps)
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
        {name, {DType::kF32, {{"m", 4}}}, replicated(1), kNoBuffer, false, kNoValue});
  }
  Step step_for(const std::string& name, const std::vector<ValueId>& operands) {
    Step step;
    step.name = name;
    step.inputs = operands;
    step.outputs = {add_value(name)};
    return step;
  }
  PartitionedEntry made_;
};

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

}  // namespace
}  // namespace mtfc::schedule_test
