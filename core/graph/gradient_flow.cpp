#include "core/graph/gradient_flow.h"

#include <algorithm>

#include "core/graph/custom_gradient.h"
#include "core/graph/op_def.h"

namespace mtfc {
namespace {

// A composite without a gradient of its own has that of the operations that it stands for.
bool passes_gradient(const Node& node) {
  return node.kind != NodeKind::kOp || node.op->gradient != kNoGradient;
}

std::vector<TensorId> differentiated_operands(const Node& node) {
  if (!node.backward) return node.operands;
  const auto [results, targets] = custom_gradient_counts(node);
  const auto first = node.operands.begin() + static_cast<std::ptrdiff_t>(results);
  return {first, first + static_cast<std::ptrdiff_t>(targets)};
}

}  // namespace

PerTensor<bool> with_gradient(const Graph& graph, TensorId of) {
  PerTensor<bool> reached(graph.tensors().size(), false);
  reached[of] = true;
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (!passes_gradient(node) ||
        std::none_of(node.results.begin(), node.results.end(), [&](TensorId id) { return reached[id]; }))
      continue;
    for (const TensorId id : differentiated_operands(node))
      if (is_float(graph.type(id).dtype)) reached[id] = true;
  }
  return reached;
}

const Node* gradient_stop(const Graph& graph, TensorId tensor, const PerTensor<bool>& needed) {
  PerTensor<bool> follows(graph.tensors().size(), false);
  follows[tensor] = true;
  for (const Node& node : graph.nodes()) {
    const bool reads =
        std::any_of(node.operands.begin(), node.operands.end(), [&](TensorId id) { return follows[id]; });
    if (!reads) continue;
    for (const TensorId id : node.results) {
      if (!needed[id]) continue;
      if (!passes_gradient(node) || !is_float(graph.type(id).dtype)) return &node;
      follows[id] = true;
    }
  }
  return nullptr;
}

}  // namespace mtfc
