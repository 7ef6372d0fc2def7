#pragma once
// Puts element-wise operations, broadcasts and reductions that work on one grid (core/program/fused_grid.h)
// and hand values to each other, or read the same one, into one step. Only values that are used elsewhere
// come out of it.
//
//   h.0 = add(h.0.0, bias)                  h = fused(h.0.0, bias)
//   h = relu(h.0)                   ->          h.0 = add(h.0.0, bias)
//                                               h = relu(h.0)

#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Constants are repeated in every fused step that uses them. With `keep_all` every value comes out, for runs
/// that look at each.
PartitionedEntry fuse(PartitionedEntry partitioned, bool keep_all, const Mesh& mesh);

}  // namespace mtfc
