#include "core/plan/split_nodes.h"

#include <optional>
#include <utility>
#include <vector>

namespace mtfc {
namespace {

// Replaces the nodes of one scope and of those inside its loops. `scope` is the number of the scope in `flat`, and
// becomes that of the next one behind these.
EntryGraph with_split(EntryGraph entry, const FlatGraph& flat, const std::map<FlatNodeId, int64_t>& parts,
                      size_t& scope) {
  const std::vector<FlatNodeId>& own = flat.scopes[scope++].nodes;
  entry.graph = with_changed_parts(
      std::move(entry.graph), entry.name,
      [&](EntryGraph part, const GraphLoop&) { return with_split(std::move(part), flat, parts, scope); });
  size_t next = 0;
  const auto replace = [&](GraphBuilder& builder, const Node& node, const TensorIds& operands) -> Replaced {
    const auto found = parts.find(own[next++]);
    if (found == parts.end()) return std::nullopt;
    Node in_new_graph = node;
    in_new_graph.operands = operands;
    return node.op->split_rule(builder, in_new_graph, found->second);
  };
  return rewritten(std::move(entry), replace);
}

}  // namespace

EntryGraph with_split_nodes(EntryGraph entry, const std::map<FlatNodeId, int64_t>& parts) {
  const FlatGraph flat = flat_graph(entry.graph);
  size_t scope = 0;
  return with_split(std::move(entry), flat, parts, scope);
}

EntryGraph split_node(const Graph& graph, const Node& node, int64_t parts) {
  GraphBuilder builder;
  Node alone = node;
  for (TensorId& operand : alone.operands) {
    const std::optional<double> constant = graph.constant_value(operand);
    const TensorType& type = graph.type(operand);
    operand = constant ? builder.constant(*constant, type.dtype)
                       : builder.add_input(graph.tensor(operand).name, type);
  }
  builder.set_origin(node.origin);
  EntryGraph entry;
  for (const TensorId id : node.op->split_rule(builder, alone, parts)) entry.outputs.push_back({"", id});
  entry.graph = std::move(builder).build();
  return entry;
}

}  // namespace mtfc
