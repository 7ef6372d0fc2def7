#include "core/graph/expand_composites.h"

#include <algorithm>

namespace mtfc {

EntryGraph expand_composites(EntryGraph entry, bool differentiated) {
  const Nodes& nodes = entry.graph.nodes();
  const bool has_gradients = differentiated || std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
                               return node.kind == NodeKind::kGradients;
                             });
  const auto is_expanded = [&](const Node& node) {
    return node.kind == NodeKind::kComposite &&
           !(has_gradients && node.composite->gradient != kGradientOfParts);
  };
  if (std::none_of(nodes.begin(), nodes.end(), is_expanded)) return entry;
  return rewritten(std::move(entry),
                   [&](GraphBuilder& builder, const Node& node,
                       const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     if (!is_expanded(node)) return std::nullopt;
                     Node in_new_graph = node;
                     in_new_graph.operands = operands;
                     std::vector<TensorId> results = node.composite->expand(builder, in_new_graph);
                     // A result has a tensor of its own, or its gradient would be that of the operand.
                     for (TensorId& id : results)
                       if (std::find(operands.begin(), operands.end(), id) != operands.end())
                         id = builder.op("identity", {id});
                     return results;
                   });
}

}  // namespace mtfc
