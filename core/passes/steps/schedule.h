#pragma once
// Reorders steps so that every collective starts as soon as its operand is there, and is awaited only where
// its result is used, or at the end.
//
//   a; start r(a); wait r; b; c(r)    ->    a; start r(a); b; wait r; c(r)

#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Kernels keep their order. Collectives whose results no step reads, such as the all_gathers of new values
/// of variables, hold memory until they are awaited: only a few of them are under way at a time.
PartitionedEntry schedule(PartitionedEntry partitioned, const Mesh& mesh);

}  // namespace mtfc
