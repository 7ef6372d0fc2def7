#pragma once
// Finds the tensors of a graph from which given others are made.

#include <algorithm>
#include <vector>

#include "core/graph/graph.h"

namespace mtfc {

/// Marks, besides the tensors that are wanted, all that they are made from.
inline PerTensor<bool> with_ancestors(const Graph& graph, PerTensor<bool> wanted) {
  const auto is_wanted = [&](TensorId id) { return wanted[id]; };
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (std::none_of(node.results.begin(), node.results.end(), is_wanted)) continue;
    for (const TensorId id : node.operands) wanted[id] = true;
  }
  return wanted;
}

}  // namespace mtfc
