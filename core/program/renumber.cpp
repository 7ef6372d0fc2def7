#include "core/program/renumber.h"

namespace mtfc {

void renumber(Step& step, const std::vector<int>& positions) {
  // Only a step that stands for a loop gives what the loop gives. The steps of an inlined loop do that.
  const bool stands_for_loop = step.kind == StepKind::kLoop && !step.outputs.empty();
  if (step.started >= 0) step.started = positions[static_cast<size_t>(step.started)];
  if (step.partner >= 0 && !stands_for_loop) step.partner = positions[static_cast<size_t>(step.partner)];
}

}  // namespace mtfc
