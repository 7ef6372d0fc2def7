#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Replaces every `gradients` node by reverse-mode differentiation of the graph before it, and afterwards the
/// composites with gradients of their own by their operations. Gradients of gradients work, since each node
/// sees only operations and such composites. A tensor on which the scalar does not depend gets zeros.
/// Example: with y = square(x), gradients(of sum(y), in x) becomes mul(broadcast(1), mul(x, 2)).
EntryGraph expand_gradients(EntryGraph entry);

}  // namespace mtfc
