#pragma once
#include "core/entry_graph.h"

namespace mtfc {

/// Replaces every composite by the operations it stands for. Afterwards the graph has none.
/// Example: softmax(x) becomes exp(x - max) / sum.
EntryGraph expand_composites(const EntryGraph& entry);

}  // namespace mtfc
