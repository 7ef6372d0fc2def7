#pragma once
// The passes over steps keep the inputs and outputs of an entry point, and the new values of its variables.

#include <string>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/program/partitioned_entry.h"

namespace mtfc {

/// "" where the steps read no inputs but those of the graph, and give its outputs and the new values of its
/// variables, each in a form of the tensor that the graph gives; otherwise what is wrong.
std::string difference_of_interface(const EntryGraph& graph, const PartitionedEntry& steps,
                                    const std::vector<ProgramVariable>& variables);

}  // namespace mtfc
