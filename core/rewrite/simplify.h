#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Removes nodes that compute nothing: factors of one, terms of zero, transpositions and broadcasts to the same
/// dimensions, casts of bf16 to f32 and back, and broadcasts whose users would broadcast anyway. Example:
/// mul(broadcast(s), x) becomes mul(s, x).
EntryGraph simplify(EntryGraph entry);

}  // namespace mtfc
