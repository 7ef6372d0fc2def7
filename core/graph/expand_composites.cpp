#include "core/graph/expand_composites.h"

#include <algorithm>
#include <utility>

namespace mtfc {
namespace {

bool is_widened(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::kComposite && node.composite->in_f32 &&
         std::any_of(node.operands.begin(), node.operands.end(),
                     [&](TensorId operand) { return graph.type(operand).dtype == DType::kBF16; });
}

// softmax(x) of a bf16 x becomes cast(softmax(cast(x))), where the composite in_f32 asks for it.
EntryGraph widen_composites(EntryGraph entry) {
  const Nodes& nodes = entry.graph.nodes();
  if (std::none_of(nodes.begin(), nodes.end(),
                   [&](const Node& node) { return is_widened(entry.graph, node); }))
    return entry;
  const EntryGraph& narrow = entry;
  const auto replace = [&](GraphBuilder& b, const Node& node, TensorIds operands) -> Replaced {
    if (!is_widened(narrow.graph, node)) return std::nullopt;
    for (TensorId& operand : operands) operand = b.cast(operand, computed_dtype(b.type(operand).dtype));
    std::vector<TensorId> results = b.add(*node.composite, operands, node.attributes);
    for (size_t i = 0; i < results.size(); ++i)
      results[i] = b.cast(results[i], narrow.graph.type(node.results[i]).dtype);
    return results;
  };
  return rewritten(narrow, replace);
}

}  // namespace

EntryGraph expand_composites(EntryGraph entry, bool differentiated) {
  entry = widen_composites(std::move(entry));
  const Nodes& nodes = entry.graph.nodes();
  const bool has_gradients = differentiated || std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
                               return node.kind == NodeKind::kGradients;
                             });
  const auto is_expanded = [&](const Node& node) {
    return node.kind == NodeKind::kComposite &&
           !(has_gradients && node.composite->gradient != kGradientOfParts);
  };
  if (std::none_of(nodes.begin(), nodes.end(), is_expanded)) return entry;
  const auto replace = [&](GraphBuilder& builder, const Node& node, const TensorIds& operands) -> Replaced {
    if (!is_expanded(node)) return std::nullopt;
    Node in_new_graph = node;
    in_new_graph.operands = operands;
    std::vector<TensorId> results = node.composite->expand(builder, in_new_graph);
    // A result has a tensor of its own, or its gradient would be that of the operand.
    for (TensorId& id : results)
      if (std::find(operands.begin(), operands.end(), id) != operands.end())
        id = builder.op("identity", {id});
    return results;
  };
  return rewritten(std::move(entry), replace);
}

}  // namespace mtfc
