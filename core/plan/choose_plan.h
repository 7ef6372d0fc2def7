#pragma once
// The choice of a plan for a layout with annotations or propagation: for every node the way in which it runs, and for
// every tensor the forms that are held, so that all of it together costs least.
//
// The layout fixes inputs, variables and annotated tensors; propagation gives every other tensor its candidates
// (core/plan/reach.h). Each node is a choice among its options, each tensor that several nodes read is a choice
// among sets of forms, and what lies between them are the costs of resharding (core/plan/cost_network.h). A form
// that several nodes read is made once, and a partial sum is reduced where that is cheapest.

#include <map>
#include <string>
#include <vector>

#include "core/plan/cost_network.h"
#include "core/plan/flat_graph.h"
#include "core/plan/plan_candidates.h"
#include "core/plan/sharded_entry.h"

namespace mtfc {

struct ChosenPlan {
  ShardedEntry entry;
  Shardings variables;  // that the entry point reads or assigns
  PlanCost cost;
  // No plan of the same candidates costs less that holds a tensor in at most three forms beside the one that its
  // producer gives (FormTable::sets). Nothing, if the choice has ended before that was known.
  PlanCost bound;
  bool is_complete = true;  // the choice has not ended early (PlanConditions::ends)
  // Some operation could be split in another way, or some tensor is moved the direct way.
  bool is_free = false;
  std::string hardware;  // the name of the profile that it was chosen for, or ""
  /// The nodes that are to run by their split rules, and into how many parts these split them. If there are any,
  /// `entry` is none to be run.
  std::map<FlatNodeId, int64_t> splits;
};

/// Its quality, as programs keep it.
PlanFigures figures_of(const ChosenPlan& plan);

/// The plan of least cost. Operations run by their split rules where that is cheapest: the plan is then one of the
/// graph in which they are replaced. The loops of `entry` must have been lowered to the same operations as the graph
/// itself.
ChosenPlan choose_plan(EntryGraph entry, const PlanConditions& conditions);

}  // namespace mtfc
