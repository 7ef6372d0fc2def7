#pragma once
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/passes/steps/choose_strategies.h"
#include "core/passes/steps/place_reductions.h"
#include "core/program/program.h"

namespace mtfc {

/// An entry point whose values have no buffers yet.
struct PartitionedEntry {
  EntryPoint entry;
  std::vector<int> variable_of;  // per value: the variable (index in Program::variables) it reads, or -1
  std::vector<std::pair<ValueId, ValueId>> assignments;  // (variable's value, its new value)
};

/// Turns a graph into steps on local values: every node becomes a kernel on operands in the shardings its
/// strategy asks for, with the reshards that this takes, each made once and shared. Relabelling nodes compute
/// nothing: they become aliases, or exchanges where the new dimensions are split in another way. A loop
/// becomes one step, whose `partner` counts the loops of the graph. Afterwards each tensor that is an output
/// or assigned is whole, in its own sharding; the entry's `sums` are as they came out.
PartitionedEntry partition(const EntryGraph& entry, const std::vector<Sharding>& targets,
                           const std::vector<Strategy>& strategies,
                           const std::vector<std::vector<Carry>>& carries,
                           const std::vector<ProgramVariable>& variables, const Mesh& mesh);

}  // namespace mtfc
