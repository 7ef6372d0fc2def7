#pragma once
// Steps refer to each other by their positions in the entry point: a wait to its start, the steps of a loop to its
// ends. A pass that moves steps puts the new positions in.
//
//   0 a   1 start r   2 wait r (started 1)    ->    0 start r   1 a   2 wait r (started 0)
//   positions {1, 0, 2}

#include "core/program/program.h"

namespace mtfc {

/// Replaces every position p in `step` by `positions[p]`.
void renumber(Step& step, const PerStep<StepIndex>& positions);

}  // namespace mtfc
