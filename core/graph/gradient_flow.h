#pragma once
// Which tensors of a graph a scalar has a gradient with respect to, and which operation keeps it from others.
//
//   a = argmax(x), loss = reduce_mean(cast(a))   loss has no gradient with respect to x: argmax has none

#include "core/graph/graph.h"

namespace mtfc {

/// Marks the tensors that a gradient of `of` can reach. A loop and an operation that has a gradient count as if they
/// passed it to all their operands of floats.
PerTensor<bool> with_gradient(const Graph& graph, TensorId of);

/// Returns the first operation that keeps gradients from `tensor`, which with_gradient() does not mark, on the ways
/// from it that lead over tensors of `needed`; nullptr if there is none.
const Node* gradient_stop(const Graph& graph, TensorId tensor, const PerTensor<bool>& needed);

}  // namespace mtfc
