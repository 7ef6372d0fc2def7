#pragma once
// A training step over its batch in parts, one after the other: gradients are added up and the update is made
// once, so that the activations of one part are all that a device holds. The result is that of the whole
// batch.

#include <string>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"

namespace mtfc {

/// The dimension that is cut into parts: the first one of every input that has any. Throws UserError where
/// there is none, where inputs differ, and where `parts` does not divide it.
Dim batch_of(const Model& model);

/// `forward`, of a model that trains in several microbatches, with its batch in parts: in a builder the
/// inputs, one loop over the parts, and what comes after it.
struct Microbatched {
  std::vector<NamedTensor> outputs;     // those of `forward`
  std::vector<Assignment> assignments;  // likewise
  std::vector<TensorId> gradients;      // of the trained variables, in their order
};

/// Row i of part p is row i · parts + p of the batch, so that devices which share the rows have an equal
/// share of every part. Rows of outputs are put together, means of parts averaged; what takes the whole batch
/// at once is computed before the loop where it depends on data alone, and after it where the loss does not
/// need it. Throws UserError where the loss does. Gradients of what the loss adds to its means over rows,
/// such as a penalty on weights, are added after the loop.
///
///   loss = reduce_mean(f(x, w))    ->    parts = reshape(x, [batch/N, N])
///                                        sums = loop N times { x = parts[:, p]; loss, dloss/dw }
///                                        loss = sums[0] / N, w/grad = sums[1] / N
Microbatched add_microbatches(GraphBuilder& builder, const EntryGraph& forward, const Model& model);

}  // namespace mtfc
