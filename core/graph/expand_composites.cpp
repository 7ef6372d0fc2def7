#include "core/graph/expand_composites.h"

#include <algorithm>

namespace mtfc {

EntryGraph expand_composites(const EntryGraph& entry, bool differentiated) {
  const std::vector<Node>& nodes = entry.graph.nodes();
  const bool has_gradients = differentiated || std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
                               return node.kind == NodeKind::kGradients;
                             });
  return rewritten(entry,
                   [&](GraphBuilder& builder, const Node& node,
                       const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     if (node.kind != NodeKind::kComposite) return std::nullopt;
                     if (has_gradients && node.composite->gradient != kGradientOfParts) return std::nullopt;
                     Node in_new_graph = node;
                     in_new_graph.operands = operands;
                     return node.composite->expand(builder, in_new_graph);
                   });
}

}  // namespace mtfc
