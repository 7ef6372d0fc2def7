#pragma once
// Finds the tensors of a graph from which given others are made, and those that are made from nothing.

#include <algorithm>
#include <set>
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

/// Marks the tensors that depend neither on inputs nor on variables, nor on random numbers.
inline PerTensor<bool> made_of_constants(const Graph& graph) {
  PerTensor<bool> found(graph.tensors().size(), false);
  for (const Node& node : graph.nodes()) {
    const auto is_known = [&](TensorId id) { return found[id]; };
    if (node.kind == NodeKind::kOp && !node.op->traits.is_drawn &&
        std::all_of(node.operands.begin(), node.operands.end(), is_known))
      for (const TensorId id : node.results) found[id] = true;
  }
  return found;
}

/// The numbers of the nodes that make `wanted`, in order. `is_open` says of a node and its operand if what makes the
/// operand is among them. Works without recursion, as graphs are deep.
template <typename IsOpen>
std::set<int> nodes_behind(const Graph& graph, TensorId wanted, IsOpen is_open) {
  std::set<int> nodes;
  std::vector<int> open = {graph.tensor(wanted).node};
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    if (!nodes.insert(n).second) continue;
    for (const TensorId id : graph.node(n).operands)
      if (is_open(graph.node(n), id)) open.push_back(graph.tensor(id).node);
  }
  return nodes;
}

}  // namespace mtfc
