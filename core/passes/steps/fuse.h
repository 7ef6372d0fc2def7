#pragma once
#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Puts element-wise operations, broadcasts and reductions that work on one grid (core/program/fused_grid.h) and hand
/// values to each other, or read the same one, into one step. Only what is used elsewhere comes out of it.
/// Constants are repeated in every step that uses them.
/// `keep_all`: every value comes out, for runs that look at each.
///
///   h.0 = add(h.0.0, bias)                  h = fused(h.0.0, bias)
///   h = relu(h.0)                   ->          h.0 = add(h.0.0, bias)
///                                               h = relu(h.0)
PartitionedEntry fuse(PartitionedEntry partitioned, bool keep_all, const Mesh& mesh);

}  // namespace mtfc
