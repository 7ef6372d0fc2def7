#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Drops every node that neither an output nor an assignment depends on: the gradient nobody asked for.
EntryGraph remove_dead(const EntryGraph& entry);

}  // namespace mtfc
