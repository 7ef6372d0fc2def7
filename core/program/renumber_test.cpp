#include "core/program/renumber.h"

#include <doctest/doctest.h>

namespace mtfc::renumber_test {
namespace {

template <typename A>
A renumbered(A action, const PerStep<StepIndex>& positions) {
  Step step;
  step.action = action;
  renumber(step, positions);
  return *step.as<A>();
}

TEST_CASE("a wait and the ends of a loop follow the steps that they refer to") {
  const PerStep<StepIndex> positions = {StepIndex(3), StepIndex(0), StepIndex(5)};
  CHECK(renumbered(AwaitCollective{{}, StepIndex(0)}, positions).start == StepIndex(3));
  CHECK(renumbered(BeginLoop{StepIndex(2), 7}, positions).end == StepIndex(5));
  CHECK(renumbered(BeginLoop{StepIndex(2), 7}, positions).times == 7);
  CHECK(renumbered(LeaveLoop{StepIndex(2)}, positions).end == StepIndex(5));
  CHECK(renumbered(RepeatLoop{StepIndex(1)}, positions).begin == StepIndex(0));
}

TEST_CASE("a step that stands for a whole loop keeps the number of its loop") {
  const PerStep<StepIndex> positions = {StepIndex(3), StepIndex(0), StepIndex(5)};
  CHECK(renumbered(RunLoop{LoopIndex(1)}, positions).loop == LoopIndex(1));
}

}  // namespace
}  // namespace mtfc::renumber_test
