#pragma once
// The shardings that a plan is chosen from: those that the layout fixes, and the axes that reach all other tensors.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/state_split.h"
#include "core/plan/flat_graph.h"
#include "core/plan/plan_prices.h"
#include "core/plan/reach.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// Axes that are offered to tensors whose shardings nothing fixes, beside those that reach them from rules and
/// annotations: for a search over annotations.
struct OfferedAxes {
  std::vector<std::string> dims;  // that axes may split; all if it is empty
  int64_t most_axes = 1;          // over which one dimension may be split
  bool allow_uneven = true;
};

struct PlanSpace;

/// The conditions that a plan must meet.
struct PlanConditions {
  const Layout& layout;
  const StateSplit& split;
  /// The shardings of the variables that the layout fixes, or that another entry point has decided. The other variables
  /// are free.
  const Shardings& variables;
  /// True if operations may run by their split rules. A node that does is still one node in the plan.
  bool uses_split_rules = false;
  /// True if the rules of the layout state how every tensor is split. What is left to choose is where partial sums
  /// become whole, and how an operation runs whose tensors are split differently.
  bool by_rules = false;
  PlanHardware hardware = {};
  const OfferedAxes* offered = nullptr;  // nullptr for none
  /// Once it returns true, the best plan that has been found is taken; empty to find the best of all.
  std::function<bool()> ends = {};
  /// The shardings of other tensors to which the plan keeps; nullptr for none.
  const Shardings* kept = nullptr;
  /// Where choices for one graph that differ only in `hardware` leave what they have in common; nullptr for none.
  std::shared_ptr<const PlanSpace>* shared = nullptr;
};

struct PlanCandidates {
  /// The sharding into which a tensor is brought before anything reads it; nothing for a tensor that may be read from
  /// any form.
  IndexedBy<FlatTensorId, std::optional<Sharding>> fixed;
  /// By rules: the sharding that they state for each tensor, which may be held in others, too. Otherwise empty.
  IndexedBy<FlatTensorId, Sharding> stated;
  IndexedBy<FlatNodeId, std::vector<Factor>> factors;  // of the nodes that compute
  Reach reach;
  /// Without the rules between parts, the lists that reach each dimension. Empty if the layout has no such rules.
  IndexedBy<FlatTensorId, std::vector<ListSet>> firm;

  /// The lists that reach each dimension of the tensor where `node` reads or makes it. An axis that reaches a tensor of
  /// the node otherwise than by a rule between parts leaves the node no such rule: of q[length, heads/model] =
  /// einsum(x[length/model, io], w[io, heads/model]), x is read whole along its length, and w is not gathered.
  std::vector<ListSet> lists_at(const FlatGraph& graph, const FlatNode& node, FlatTensorId tensor) const;
  /// With rules between parts: of variables, and of what is made of variables alone, the axes of these rules that split
  /// them. No operation gathers such a tensor over them. Otherwise empty.
  IndexedBy<FlatTensorId, AxisList> kept_split;

  /// The axes by which only rules between parts split tensors of the node.
  AxisList between_at(const FlatGraph& graph, const FlatNode& node) const;

 private:
  AxisList firm_axes(const FlatGraph& graph, const FlatNode& node) const;
};

PlanCandidates find_candidates(const FlatGraph& graph, const PlanConditions& conditions);

/// What a plan is chosen from, whatever it is chosen for.
struct PlanSpace {
  PlanSpace(EntryGraph chosen_for, const PlanConditions& conditions)
      : entry(std::move(chosen_for)),
        graph(flat_graph(entry.graph)),
        candidates(find_candidates(graph, conditions)) {}
  PlanSpace(const PlanSpace&) = delete;  // the graph refers to the entry point

  EntryGraph entry;
  FlatGraph graph;
  PlanCandidates candidates;
};

}  // namespace mtfc
