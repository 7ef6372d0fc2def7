#pragma once
// A graph together with the graphs inside its loops, as one list of nodes and one list of tensors. The choice of a plan
// looks at all of them at once, since the sharding of a tensor that a loop takes or gives concerns both sides.

#include <cstdint>
#include <vector>

#include "core/graph/entry_graph.h"

namespace mtfc {

/// The position of a tensor in FlatGraph::tensors, and of a node in FlatGraph::nodes.
using FlatTensorId = Id<struct FlatTensorTag>;
using FlatNodeId = Id<struct FlatNodeTag>;

/// The entry point itself, or one part of a loop.
struct FlatScope {
  const Graph* graph = nullptr;
  int64_t times = 1;  // how often a step runs it; a loop with a condition counts as one round
  FlatTensorId first_tensor = FlatTensorId(0);
  std::vector<FlatNodeId> nodes = {};

  FlatTensorId flat(TensorId id) const { return FlatTensorId(first_tensor.index() + id.index()); }
};

struct FlatTensor {
  const Tensor* tensor = nullptr;
  size_t scope = 0;
};

struct FlatNode {
  const Node* node = nullptr;
  size_t scope = 0;
  size_t condition = 0, body = 0;  // the scopes of a loop's parts

  bool operates() const { return node->kind == NodeKind::kOp; }
};

/// Refers to the graphs that it was made from. Nodes come before those that read their results.
struct FlatGraph {
  std::vector<FlatScope> scopes;  // the entry point first
  IndexedBy<FlatTensorId, FlatTensor> tensors;
  IndexedBy<FlatNodeId, FlatNode> nodes;

  const TensorType& type(FlatTensorId id) const { return tensors[id].tensor->type; }
  FlatTensorId flat(const FlatNode& node, TensorId id) const { return scopes[node.scope].flat(id); }
  /// The leaves of a loop's condition and body that stand for operand `i`. A part may lack one.
  std::vector<FlatTensorId> leaves(const FlatNode& loop, size_t i) const;
  /// The tensor that the body of a loop gives as result `i`.
  FlatTensorId given(const FlatNode& loop, size_t i) const;
};

FlatGraph flat_graph(const Graph& graph);

}  // namespace mtfc
