#pragma once
#include "core/passes/steps/sharded_entry.h"

namespace mtfc {

/// Chooses for every node which axes split which of its factors: those of its tensors' shardings
/// where they agree; otherwise the cheapest assignment including the reshards of operands and results:
/// fewest bytes, then collectives, then most parallel, then first. Leaves and relabelling nodes get none.
/// Example: x[b/rows, k/cols] * w[k/cols, h] gives y[b/rows, h, sum over cols].
ShardedEntry choose_strategies(ShardedEntry sharded, const Mesh& mesh);

}  // namespace mtfc
