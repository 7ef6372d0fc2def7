#include "core/program/renumber.h"

#include <doctest/doctest.h>

namespace mtfc {
namespace {

Step step_of(StepKind kind, int started, int partner) {
  Step step;
  step.kind = kind;
  step.started = started;
  step.partner = partner;
  return step;
}

TEST_CASE("a wait and the ends of a loop follow the steps that they refer to") {
  const std::vector<int> positions = {3, 0, 5};
  Step wait = step_of(StepKind::kWait, 0, -1);
  renumber(wait, positions);
  CHECK(wait.started == 3);
  CHECK(wait.partner == -1);
  for (const StepKind kind : {StepKind::kLoop, StepKind::kLeave, StepKind::kRepeat}) {
    Step end = step_of(kind, -1, 2);
    renumber(end, positions);
    CHECK(end.partner == 5);
    CHECK(end.started == -1);
  }
}

TEST_CASE("a step that stands for a whole loop keeps the number of its loop") {
  Step loop = step_of(StepKind::kLoop, -1, 1);
  loop.outputs = {7};
  renumber(loop, {3, 0, 5});
  CHECK(loop.partner == 1);
}

}  // namespace
}  // namespace mtfc
