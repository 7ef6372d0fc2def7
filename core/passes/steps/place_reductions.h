#pragma once
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/passes/steps/choose_strategies.h"
#include "core/tensors/mesh.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// A node that is linear in operands which are sum-partial over `axis`, and gives a sum-partial result of them.
struct Carry {
  int axis = 0;
  std::vector<size_t> operands;  // taken partial; all others are taken whole
};

/// Decides for every node which partial sums pass through it (one list per node, at most one entry per axis).
///
/// A partial sum must be whole where a non-linear operation, an output or an assignment uses it; on the way there
/// it may pass any number of linear operations, merging with others. Per axis the all_reduces are placed at the
/// minimum cut between where partial sums arise and where whole values are needed, weighted by bytes and then by
/// number. Example: add(a, b), both partial, gets one all_reduce after the add; reduce_sum(a) one after the sum.
std::vector<std::vector<Carry>> place_reductions(const EntryGraph& entry,
                                                 const std::vector<Strategy>& strategies,
                                                 const std::vector<Sharding>& targets, const Mesh& mesh);

}  // namespace mtfc
