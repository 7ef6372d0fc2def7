#pragma once
// Steps refer to each other by their positions in the entry point: `started` of a kWait, `partner` of the
// steps of a loop. A pass that moves steps puts the new positions in.
//
//   0 a   1 start r   2 wait r (started 1)    ->    0 start r   1 a   2 wait r (started 0)
//   positions {1, 0, 2}

#include <vector>

#include "core/program/program.h"

namespace mtfc {

/// Replaces every position p in `step` by `positions[p]`. The partner of a kLoop step that stands for a whole
/// loop is left as it is: up to `inline_loops` it is an index of PartitionedEntry::loops.
void renumber(Step& step, const std::vector<int>& positions);

}  // namespace mtfc
