#include "core/passes/steps/apply_split_rules.h"

#include <algorithm>

namespace mtfc {
namespace {

// The number of shards of the split dimension that the node needs whole; 1 if there is none.
int64_t parts_of_needed(const Graph& graph, const Node& node, const PerTensor<Sharding>& shardings,
                        const Mesh& mesh) {
  if (node.kind != NodeKind::kOp || node.op->split_rule == kNoSplitRule) return 1;
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

std::optional<EntryGraph> apply_split_rules(ShardedEntry& sharded, const Mesh& mesh) {
  const Graph& graph = sharded.entry.graph;
  std::vector<int64_t> parts;
  parts.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes())
    parts.push_back(parts_of_needed(graph, node, sharded.shardings, mesh));
  if (std::all_of(parts.begin(), parts.end(), [](int64_t count) { return count == 1; })) return std::nullopt;
  size_t next = 0;
  return rewritten(std::move(sharded.entry),
                   [&](GraphBuilder& builder, const Node& node,
                       const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     const int64_t count = parts[next++];
                     if (count == 1) return std::nullopt;
                     Node in_new_graph = node;
                     in_new_graph.operands = operands;
                     return node.op->split_rule(builder, in_new_graph, count);
                   });
}

}  // namespace mtfc
