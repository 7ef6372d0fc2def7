#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Drops every node on which neither an output nor an assignment depends. Example: a gradient that nothing
/// uses.
EntryGraph remove_dead(EntryGraph entry);

}  // namespace mtfc
