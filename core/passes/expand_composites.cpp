#include "core/passes/expand_composites.h"

namespace mtfc {

EntryGraph expand_composites(const EntryGraph& entry) {
  return rewritten(entry,
                   [](GraphBuilder& builder, const Node& node,
                      const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     if (node.kind != NodeKind::kComposite) return std::nullopt;
                     Node in_new_graph = node;
                     in_new_graph.operands = operands;
                     return node.composite->expand(builder, in_new_graph);
                   });
}

}  // namespace mtfc
