#include "core/passes/graph/simplify.h"

namespace mtfc {
namespace {

bool is_kind(const Node& node, std::string_view kind) {
  return node.kind == NodeKind::kOp && node.op->signature.name == kind;
}

// The tensor x if the node is x * 1, x + 0, x - 0 or x / 1 and x has the result's type; otherwise kNoTensor.
TensorId neutral(const Graph& graph, const Node& node, const std::vector<TensorId>& operands,
                 const TensorType& result) {
  const bool product = is_kind(node, "mul"), sum = is_kind(node, "add");
  const bool quotient = is_kind(node, "div"), difference = is_kind(node, "sub");
  if (!product && !sum && !quotient && !difference) return kNoTensor;
  const double unit = product || quotient ? 1.0 : 0.0;
  for (size_t i = 0; i < 2; ++i) {
    if (i == 0 && (quotient || difference)) continue;
    const TensorId other = operands[1 - i];
    if (graph.constant_value(operands[i]) == unit && graph.type(other) == result) return other;
  }
  return kNoTensor;
}

// The operands of an element-wise node, with broadcasts removed if the others still give every dimension.
// Empty if none can be removed.
std::vector<TensorId> without_broadcasts(const Graph& graph, const std::vector<TensorId>& operands,
                                         const Dims& result) {
  std::vector<TensorId> bare = operands;
  bool changed = false;
  for (size_t i = 0; i < bare.size(); ++i) {
    const Node& producer = graph.producer(bare[i]);
    if (!is_kind(producer, "broadcast")) continue;
    Dims others = graph.type(producer.operands[0]).dims;
    for (size_t j = 0; j < bare.size(); ++j)
      if (j != i) others = unite(others, graph.type(bare[j]).dims);
    if (!same_set(others, result)) continue;
    bare[i] = producer.operands[0];
    changed = true;
  }
  return changed ? bare : std::vector<TensorId>{};
}

}  // namespace

EntryGraph simplify(const EntryGraph& entry) {
  return rewritten(entry,
                   [&](GraphBuilder& builder, const Node& node,
                       const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     if (node.kind != NodeKind::kOp) return std::nullopt;
                     const TensorType& result = entry.graph.type(node.results[0]);
                     const bool same_dims = operands.size() == 1 && builder.type(operands[0]) == result;
                     if (same_dims && (is_kind(node, "broadcast") || is_kind(node, "transpose")))
                       return {{operands[0]}};
                     // A single operand stays broadcast, since its broadcast gives the order of the result's
                     // dimensions.
                     if (!is_elementwise(*node.op) || operands.size() < 2) return std::nullopt;
                     std::vector<TensorId> bare = without_broadcasts(builder.graph(), operands, result.dims);
                     const TensorId kept =
                         neutral(builder.graph(), node, bare.empty() ? operands : bare, result);
                     if (kept != kNoTensor) return {{kept}};
                     if (bare.empty()) return std::nullopt;
                     Attributes attributes = node.attributes;
                     attributes.set("dims", result.dims);
                     return builder.add(*node.op, std::move(bare), std::move(attributes));
                   });
}

}  // namespace mtfc
