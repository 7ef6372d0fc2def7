#pragma once
#include <vector>

#include "core/passes/steps/sharded_entry.h"

namespace mtfc {

/// Turns a graph into steps on local values: every node becomes a kernel on operands in the shardings its
/// strategy asks for, with the reshards that this takes, each made once and shared. Relabelling nodes compute
/// nothing: they become aliases, or exchanges where the new dimensions are split in another way. A loop
/// becomes one step, whose `partner` counts the loops of the graph. Afterwards each tensor that is an output
/// or assigned is whole, in its own sharding; the entry's `sums` are as they came out.
PartitionedEntry partition(const ShardedEntry& sharded, const std::vector<ProgramVariable>& variables,
                           const Mesh& mesh);

}  // namespace mtfc
