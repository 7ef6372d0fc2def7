#include "core/passes/apply_split_rules.h"

namespace mtfc {
namespace {

bool needs_split_dimension(const Graph& graph, const Node& node, const std::vector<Sharding>& shardings) {
  const std::vector<TensorType> operands = graph.operand_types(node), results = graph.result_types(node);
  for (const Factor& factor : node.op->roles({node.attributes, operands}, results)) {
    if (factor.kind != Factor::Kind::kWhole) continue;
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (factor.operands[i] >= 0 && !shardings[static_cast<size_t>(node.operands[i])]
                                          .dims[static_cast<size_t>(factor.operands[i])]
                                          .empty())
        return true;
  }
  return false;
}

}  // namespace

EntryGraph apply_split_rules(const EntryGraph& entry, const std::vector<Sharding>& shardings) {
  return rewritten(entry,
                   [&](GraphBuilder& builder, const Node& node,
                       const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     if (node.kind != NodeKind::kOp || node.op->split_rule == kNoSplitRule)
                       return std::nullopt;
                     if (!needs_split_dimension(entry.graph, node, shardings)) return std::nullopt;
                     Node in_new_graph = node;
                     in_new_graph.operands = operands;
                     return node.op->split_rule(builder, in_new_graph);
                   });
}

}  // namespace mtfc
