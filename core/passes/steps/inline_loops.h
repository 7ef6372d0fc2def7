#pragma once
#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Puts the steps of loops in the place of the kLoop steps that stand for them; `partner` of those is an
/// index of the entry's `loops`, their outputs are the carried values. From here on `partner` is what core/program/program.h
/// says.
///
///   s', = loop 0 (s, x)   ->   s' = identity(s); loop; h = less(s', 10); leave(h); n = add(s', x);
///                              s' = identity(n); repeat
///
/// A sum starts as zero, and what a round gives is added as soon as it is there.
PartitionedEntry inline_loops(PartitionedEntry partitioned);

}  // namespace mtfc
