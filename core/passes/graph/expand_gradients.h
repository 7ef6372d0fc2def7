#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Replaces every `gradients` node by reverse-mode differentiation of the graph before it, then the
/// composites with gradients of their own by their operations. Gradients of gradients work, since each node
/// only sees operations and such composites. A tensor that the scalar does not depend on gets zeros. Example:
/// y = square(x), gradients(of sum(y), in x) becomes mul(broadcast(1), mul(x, 2)).
EntryGraph expand_gradients(const EntryGraph& entry);

}  // namespace mtfc
