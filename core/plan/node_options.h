#pragma once
// The ways to run one operation on the mesh: which axes split which of its factors, and which partial sums pass
// through it.
//
// Example: y[b, h] = einsum(x[b, k], w[k, h]) where rows reaches b and cols reaches k:
//
//   x: b/rows, k/cols   w: k/cols   y: b/rows, sum over cols     the least arithmetic
//   x: b/rows           w: whole    y: b/rows                    cols repeat the same work
//   x: k/cols           w: k/cols   y: sum over cols
//   x: whole            w: whole    y: whole

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/plan/cost_network.h"
#include "core/plan/plan_prices.h"
#include "core/plan/reach.h"
#include "core/plan/sharded_entry.h"
#include "core/tensors/mesh.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// One way to run a node. A form is a sharding, partial as well.
struct NodeOption {
  std::vector<Sharding> operands;  // the forms that it needs
  std::vector<Sharding> results;   // the forms that it gives
  PlanCost cost;                   // of its arithmetic, and of pieces that it exchanges
  // If its split rule makes it: the number of shards of the dimension that it needs whole; otherwise 1
  int64_t parts = 1;
};

/// The shardings in which a node runs by this option, and the partial sums that pass through it.
Strategy strategy_of(const NodeOption& option);
std::vector<Carry> carries_of(const NodeOption& option);

/// A node with what is known of its tensors.
struct NodeCall {
  const Graph& graph;
  const Node& node;
  std::vector<std::vector<ListSet>> operand_lists, result_lists;  // that reach each dimension
  std::vector<uint64_t> partial;  // axes over which each operand may be partial
  bool by_rules = false;          // the longest list that reaches a dimension is the one that splits it
  AxisList between = {};          // axes by which only rules between parts split its tensors
};

/// The best way to run a node by its split rule, with operands in these shardings.
using SplitPlan = std::function<NodeOption(const std::vector<Sharding>& operands, int64_t parts)>;

/// All ways to run an operation, the most parallel ones first. Throws UserError if there are too many. `split_plan` is
/// empty where no split rules are to be used.
std::vector<NodeOption> options_of(const NodeCall& call, const std::vector<Factor>& factors,
                                   const AxisLists& lists, const Mesh& mesh, const PlanPrices& prices,
                                   const SplitPlan& split_plan);

}  // namespace mtfc
