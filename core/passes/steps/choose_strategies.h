#pragma once
#include "core/passes/steps/sharded_entry.h"

namespace mtfc {

/// Chooses for every node which axes split which of its factors. If the shardings of its tensors agree, these
/// decide. Otherwise the cheapest assignment wins, reshards of operands and results included: fewest bytes,
/// then fewest collectives, then most parallel, then first. Leaves and relabelling nodes get none. Example:
/// x[b/rows, k/cols] * w[k/cols, h] gives y[b/rows, h, sum over cols].
ShardedEntry choose_strategies(ShardedEntry sharded, const Mesh& mesh);

/// The strategy of one node that computes, from the shardings of its own tensors alone. The search for layouts bounds
/// the cost of a node by it.
Strategy choose_strategy(const Graph& graph, const Node& node, const PerTensor<Sharding>& targets,
                         const Mesh& mesh);

}  // namespace mtfc
