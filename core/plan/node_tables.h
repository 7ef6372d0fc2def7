#pragma once
// The options of every node of a graph, with the forms that they take and give. Nodes that are equal apart from names,
// and have equal candidates, share them: layers repeat.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/plan/flat_graph.h"
#include "core/plan/form_table.h"
#include "core/plan/node_options.h"
#include "core/plan/plan_candidates.h"

namespace mtfc {

struct NodeTable {
  std::vector<NodeOption> options;
  std::vector<FormsId> operands, results;  // a form for each option
  bool is_free = false;                    // the options split tensors in different ways, partial sums aside
};

class NodeTables {
 public:
  /// `most`: how many options of a node are looked at. The others must outlive it.
  NodeTables(const FlatGraph& graph, const PlanCandidates& candidates, const Mesh& mesh,
             const PlanPrices& prices, FormTable& forms, size_t most)
      : graph_(graph), candidates_(candidates), mesh_(mesh), prices_(prices), forms_(forms), most_(most) {}

  /// The table of a node that computes. `split_plan` as for options_of().
  std::shared_ptr<const NodeTable> of(FlatNodeId n, const SplitPlan& split_plan);

 private:
  const FlatGraph& graph_;
  const PlanCandidates& candidates_;
  const Mesh& mesh_;
  const PlanPrices& prices_;
  FormTable& forms_;
  size_t most_;
  std::unordered_map<std::string, std::shared_ptr<const NodeTable>> tables_;
};

}  // namespace mtfc
