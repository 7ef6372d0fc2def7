#pragma once
// Steps that tests write by hand.

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/op_registry.h"
#include "core/program/program.h"

namespace mtfc {

/// The values at these positions.
inline std::vector<ValueId> value_ids(std::initializer_list<int> positions) {
  std::vector<ValueId> ids;
  for (const int position : positions) ids.emplace_back(position);
  return ids;
}

inline Step kernel_step(const char* op, std::initializer_list<int> inputs, int output) {
  Step step;
  step.action = RunKernel{&op_named(op)};
  step.inputs = value_ids(inputs);
  step.outputs = value_ids({output});
  return step;
}

inline Step start_step(Collective collective, int input, int output) {
  Step step;
  step.action = StartCollective{std::move(collective)};
  step.inputs = value_ids({input});
  step.outputs = value_ids({output});
  return step;
}

/// The wait for the collective that `start` starts, which is the step at `position`.
inline Step wait_step(const Step& start, int position) {
  Step step = start;
  step.action = AwaitCollective{start.collective(), StepIndex(position)};
  return step;
}

}  // namespace mtfc
