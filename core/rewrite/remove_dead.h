#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Marks the tensors on which an output or an assignment depends.
PerTensor<bool> needed_tensors(const EntryGraph& entry);

/// Drops every node on which neither an output nor an assignment depends. Example: a gradient that nothing
/// uses.
EntryGraph remove_dead(EntryGraph entry);

}  // namespace mtfc
