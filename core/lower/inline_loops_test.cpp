#include "core/lower/inline_loops.h"

#include <doctest/doctest.h>

#include "core/program/structure_check.h"
#include "core/testing/steps_by_hand.h"

namespace mtfc::inline_loops_test {
namespace {

Value value_named(const std::string& name) {
  return {name, {DType::kF32, {{"m", 4}}}, replicated(1), kNoBuffer, false, kNoValue};
}

// Three rounds that add up the operand itself, which no step of a round makes.
PartitionedEntry sum_of_an_operand() {
  LoopSteps loop;
  loop.times = 3;
  loop.sums = loop.body.sums = 1;
  loop.body.entry.values = {value_named("operand 0")};
  loop.body.entry.inputs = {{"operand 0", ValueId(0)}};
  loop.body.entry.outputs = {{"x", ValueId(0)}};
  loop.body.variable_of = {-1};

  PartitionedEntry made;
  made.entry.values = {value_named("x"), value_named("sum")};
  made.entry.inputs = {{"x", ValueId(0)}};
  made.entry.outputs = {{"sum", ValueId(1)}};
  made.variable_of = {-1, -1};
  Step step;
  step.action = RunLoop{LoopIndex(0)};
  step.name = "sum";
  step.inputs = value_ids({0});
  step.outputs = value_ids({1});
  made.entry.steps = {step};
  made.loops = {loop};
  return made;
}

TEST_CASE("a sum of what no step of a round makes is added to at the end of the round") {
  const Mesh mesh({{"p", 1}});
  CHECK_FALSE(find_structure_fault(sum_of_an_operand(), mesh));
  const PartitionedEntry inlined = inline_loops(sum_of_an_operand());
  CHECK_FALSE(find_structure_fault(inlined, mesh));
  std::string steps;
  for (const Step& step : inlined.entry.steps)
    steps += (step.op() ? std::string(step.op()->signature.name) : to_string(step.kind())) + " ";
  CHECK(steps == "constant broadcast loop add repeat ");
  CHECK(inlined.entry.steps[3].inputs == value_ids({1, 0}));
  CHECK(inlined.entry.steps[3].outputs == value_ids({1}));
}

}  // namespace
}  // namespace mtfc::inline_loops_test
