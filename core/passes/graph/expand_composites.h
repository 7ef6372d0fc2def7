#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Replaces every composite by the operations it stands for. Afterwards the graph has none but, where it has
/// gradients yet to be expanded (or is to get some: `differentiated`), those with a gradient of their own.
/// Example: log_softmax(x) becomes x - max - log(sum).
EntryGraph expand_composites(const EntryGraph& entry, bool differentiated = false);

}  // namespace mtfc
