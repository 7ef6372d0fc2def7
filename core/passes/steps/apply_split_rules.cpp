#include "core/passes/steps/apply_split_rules.h"

namespace mtfc {
namespace {

// The number of shards of the split dimension that the node needs whole; 1 if there is none.
int64_t parts_of_needed(const Graph& graph, const Node& node, const PerTensor<Sharding>& shardings,
                        const Mesh& mesh) {
  const std::vector<TensorType> operands = graph.operand_types(node), results = graph.result_types(node);
  for (const Factor& factor : node.op->roles({node.attributes, operands}, results)) {
    if (factor.kind != Factor::Kind::kWhole) continue;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (factor.operands[i] < 0) continue;
      const Sharding& sharding = shardings[node.operands[i]];
      const int64_t parts = mesh.size(sharding.dims[static_cast<size_t>(factor.operands[i])]);
      if (parts > 1) return parts;
    }
  }
  return 1;
}

}  // namespace

EntryGraph apply_split_rules(const ShardedEntry& sharded, const Mesh& mesh) {
  const EntryGraph& entry = sharded.entry;
  return rewritten(entry,
                   [&](GraphBuilder& builder, const Node& node,
                       const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     if (node.kind != NodeKind::kOp || node.op->split_rule == kNoSplitRule)
                       return std::nullopt;
                     const int64_t parts = parts_of_needed(entry.graph, node, sharded.shardings, mesh);
                     if (parts == 1) return std::nullopt;
                     Node in_new_graph = node;
                     in_new_graph.operands = operands;
                     return node.op->split_rule(builder, in_new_graph, parts);
                   });
}

}  // namespace mtfc
