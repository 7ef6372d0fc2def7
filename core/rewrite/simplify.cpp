#include "core/rewrite/simplify.h"

namespace mtfc {
namespace {

// The tensor x if the node combines x with its operation's neutral element, as x * 1 or x - 0, and x has the
// result's type; otherwise kNoTensor.
TensorId neutral(const Graph& graph, const Node& node, const std::vector<TensorId>& operands,
                 const TensorType& result) {
  const std::optional<NeutralElement>& unit = node.op->traits.neutral;
  if (!unit) return kNoTensor;
  for (size_t i = unit->on_either_side ? 0 : 1; i < 2; ++i) {
    const TensorId other = operands[1 - i];
    if (graph.constant_value(operands[i]) == unit->value && graph.type(other) == result) return other;
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
    if (producer.kind != NodeKind::kOp || producer.op->traits.copies != Copies::kSpread) continue;
    Dims others = graph.type(producer.operands[0]).dims;
    for (size_t j = 0; j < bare.size(); ++j)
      if (j != i) others = unite(others, graph.type(bare[j]).dims);
    if (!same_set(others, result)) continue;
    bare[i] = producer.operands[0];
    changed = true;
  }
  return changed ? bare : std::vector<TensorId>{};
}

// The tensor x if the node casts it back to its own dtype from a wider one; otherwise kNoTensor.
TensorId cast_back(const Graph& graph, const Node& node, TensorId operand, const TensorType& result) {
  const Node& before = graph.producer(operand);
  if (!node.op->traits.converts || before.kind != NodeKind::kOp || !before.op->traits.converts)
    return kNoTensor;
  const bool widens = graph.type(operand).dtype == DType::kF32 && result.dtype == DType::kBF16;
  return widens && graph.type(before.operands[0]) == result ? before.operands[0] : kNoTensor;
}

}  // namespace

EntryGraph simplify(EntryGraph entry) {
  const auto replace = [&](GraphBuilder& builder, const Node& node, const TensorIds& operands) -> Replaced {
    if (node.kind != NodeKind::kOp) return std::nullopt;
    const TensorType& result = entry.graph.type(node.results[0]);
    // An identity stays: it is there for its name.
    const Copies copies = node.op->traits.copies;
    if ((copies == Copies::kReordered || copies == Copies::kSpread) && builder.type(operands[0]) == result)
      return {{operands[0]}};
    if (operands.size() == 1)
      if (const TensorId same = cast_back(builder.graph(), node, operands[0], result); same != kNoTensor)
        return {{same}};
    // A single operand stays broadcast, since its broadcast gives the order of the result's
    // dimensions.
    if (!is_elementwise(*node.op) || operands.size() < 2) return std::nullopt;
    std::vector<TensorId> bare = without_broadcasts(builder.graph(), operands, result.dims);
    const TensorId kept = neutral(builder.graph(), node, bare.empty() ? operands : bare, result);
    if (kept != kNoTensor) return {{kept}};
    if (bare.empty()) return std::nullopt;
    Attributes attributes = node.attributes;
    attributes.set("dims", result.dims);
    return builder.add(*node.op, std::move(bare), std::move(attributes));
  };
  return rewritten(std::move(entry), replace);
}

}  // namespace mtfc
