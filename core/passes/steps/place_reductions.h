#pragma once
#include "core/passes/steps/sharded_entry.h"

namespace mtfc {

/// Decides for every node which partial sums pass through it (one list per node, at most one entry per axis).
///
/// A partial sum must be whole where a non-linear operation, an output or an assignment uses it; on the way there
/// it may pass any number of linear operations, merging with others. Per axis the all_reduces are placed at the
/// minimum cut between where partial sums arise and where whole values are needed, weighted by bytes and then by
/// number. Example: add(a, b), both partial, gets one all_reduce after the add; reduce_sum(a) one after the sum.
ShardedEntry place_reductions(ShardedEntry sharded, const Mesh& mesh);

}  // namespace mtfc
