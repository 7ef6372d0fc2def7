#pragma once
// Decides for every node which partial sums pass through it unreduced.
//
// A partial sum must be made whole where a non-linear operation, an output or an assignment uses it. On the
// way there it may pass any number of linear operations, and merge with other partial sums. Per axis, the
// all_reduces are placed at the minimum cut between where partial sums arise and where whole values are
// needed, weighted by bytes and then by number.
//
//   c = add(a, b), both partial over cols    carried by the add: one all_reduce, of c
//   s = reduce_sum(a), a partial over cols   carried by the sum: one all_reduce of the smaller s

#include "core/passes/steps/sharded_entry.h"

namespace mtfc {

/// Adds `carries`: per node one list, with at most one entry per axis.
ShardedEntry place_reductions(ShardedEntry sharded, const Mesh& mesh);

}  // namespace mtfc
