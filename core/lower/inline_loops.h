#pragma once
// Puts the steps of loops in the place of the RunLoop steps that stand for them.
//
//   s', = loop 0 (s, x)   ->   s' = identity(s); loop; h = less(s', 10); leave(h); n = add(s', x);
//                              s' = identity(n); repeat

#include "core/program/partitioned_entry.h"

namespace mtfc {

/// The outputs of a RunLoop step become the carried values of the loop. A sum starts as zero, and the summand
/// of a round is added to it as soon as it is there.
PartitionedEntry inline_loops(PartitionedEntry partitioned);

}  // namespace mtfc
