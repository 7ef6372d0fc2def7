#pragma once
// Results whose gradient a model states (`backward` of a block), in place of that of the operations that make them.
//
//   y, x, w -> custom_gradient { backward: x, w, y, gradient of y -> gradients of x and w } -> y'
//
// y' has the elements of y. Whatever reads y' passes its gradient to the backward part, which gives those of the
// targets, x and w; no gradient goes to y itself, so the operations that make it are not differentiated. The node is a
// composite: it becomes y once gradients have been expanded.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace mtfc {

/// The numbers of a node's results and targets. Its operands are the results to be, the targets, and other tensors
/// that the backward part reads, in this order; the leaves of that part are named by leaf_name, and those behind the
/// operands are the gradients of the results. Its results are the gradients of the targets.
struct CustomGradientCounts {
  size_t results = 0, targets = 0;
};

struct CustomGradient {
  CustomGradientCounts counts;
  std::shared_ptr<const LoopPart> backward;
  /// The number of equal parts of the batch if the graph computes one of them: gradients are then so many times what
  /// they are of the whole batch.
  int64_t scale = 1;
};
std::vector<TensorId> add_custom_gradient(GraphBuilder& builder, CustomGradient gradient,
                                          std::vector<TensorId> operands,
                                          const std::vector<std::string>& names = {});
/// The counts of a node that has a backward part.
CustomGradientCounts custom_gradient_counts(const Node& node);

/// The types of the leaves of a part: those of the operands, and behind them those of the gradients of the results.
std::vector<TensorType> backward_leaf_types(const Graph& graph, const Node& node);

/// Adds the operations of a part to a graph in which `leaves` stand for its leaves, and returns its results. `add` adds
/// a copy of a node with new operands.
using AddCopy = std::function<std::vector<TensorId>(const Node&, std::vector<TensorId> operands)>;
std::vector<TensorId> inlined(const LoopPart& part, const std::vector<TensorId>& leaves, const AddCopy& add);

}  // namespace mtfc
