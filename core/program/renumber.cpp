#include "core/program/renumber.h"

namespace mtfc {

void renumber(Step& step, const PerStep<StepIndex>& positions) {
  if (auto* wait = step.as<AwaitCollective>()) wait->start = positions[wait->start];
  if (auto* loop = step.as<BeginLoop>()) loop->end = positions[loop->end];
  if (auto* leave = step.as<LeaveLoop>()) leave->end = positions[leave->end];
  if (auto* repeat = step.as<RepeatLoop>()) repeat->begin = positions[repeat->begin];
}

}  // namespace mtfc
