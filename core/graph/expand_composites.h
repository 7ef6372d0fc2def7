#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Replaces every composite by the operations that define it. Composites with a gradient of their own stay as
/// long as the graph has gradients to be expanded, or is to get some (`differentiated`); expand_gradients
/// replaces them. Example: log_softmax(x) becomes x - max - log(sum). A composite that states in_f32 is first given f32
/// in place of bf16.
EntryGraph expand_composites(EntryGraph entry, bool differentiated = false);

}  // namespace mtfc
