// Tests that what an entry point gives in the end must come out of a step.

#include "core/program/structure_check.h"

#include <doctest/doctest.h>

#include "core/testing/steps_by_hand.h"

namespace mtfc::structure_check_test {
namespace {

const Mesh kOne({{"p", 1}});

// x, the variable w, and one fused step: a = neg(x), b = neg(a), which gives `outputs`.
PartitionedEntry fused_chain(std::initializer_list<int> outputs) {
  PartitionedEntry made;
  for (const char* name : {"x", "w", "a", "b"})
    made.entry.values.push_back({name, {DType::kF32, {{"m", 4}}}, replicated(1), kNoBuffer, false, kNoValue});
  made.variable_of = {-1, 0, -1, -1};
  made.entry.inputs = {{"x", ValueId(0)}};
  Step fused;
  fused.action = RunFused{{kernel_step("neg", {0}, 2), kernel_step("neg", {2}, 3)}};
  fused.inputs = value_ids({0});
  fused.outputs = value_ids(outputs);
  made.entry.steps = {fused};
  return made;
}

std::string fault_of(const PartitionedEntry& made) {
  const std::optional<ProgramFault> fault = find_structure_fault(made, kOne);
  return fault ? fault->pointer + ": " + fault->what() : "";
}

TEST_CASE("outputs and new values of variables leave the fused step that makes them") {
  PartitionedEntry both = fused_chain({2, 3});
  both.entry.outputs = {{"b", ValueId(3)}};
  both.assignments = {{ValueId(1), ValueId(2)}};
  CHECK(fault_of(both) == "");
  both.entry.steps[0].outputs = value_ids({3});
  CHECK(fault_of(both) == "/values/2: 'a' is assigned to 'w', but no step makes it");
  both.entry.steps[0].outputs = value_ids({2});
  CHECK(fault_of(both) == "/outputs/0: 'b' is read before any step has made it");
}

TEST_CASE("only variables are assigned, and in their own type and sharding") {
  PartitionedEntry to_input = fused_chain({3});
  to_input.assignments = {{ValueId(0), ValueId(3)}};
  CHECK(fault_of(to_input) == "/values/3: 'b' is assigned to 'x', which is no variable");
  PartitionedEntry larger = fused_chain({3});
  larger.assignments = {{ValueId(1), ValueId(3)}};
  larger.entry.values[1].type.dims = {{"m", 5}};
  CHECK(fault_of(larger) == "/values/3: 'b' is assigned to 'w', which has another type or sharding");
}

}  // namespace
}  // namespace mtfc::structure_check_test
