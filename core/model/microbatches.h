#pragma once
// A training step whose batch is cut into N microbatches, one after the other. Gradients are added up and the
// update is made once, so that a device holds the activations of only one microbatch. The result is that of
// the whole batch.
//
//   loss = reduce_mean(f(x, w))    ->    xs = reshape(x, [batch/N, N])
//                                        sums = loop N times { x = xs[:, p]; loss, dloss/dw }
//                                        loss = sums[0] / N, w/grad = sums[1] / N
//
// Three steps: find_cut decides where each tensor is computed (core/model/microbatch_cut.h), build_loop
// builds the loop (core/model/microbatch_loop.h), and this puts together what comes before, the loop, and
// what comes after it.

#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"

namespace mtfc {

/// Ends the names of the gradients that one microbatch gives, after those of the variables. They are other tensors than
/// the gradients of the whole batch: where devices share the batch, each may hold its own term of them until all
/// microbatches are added up.
inline constexpr const char* kMicrobatchGradient = "/grad/microbatch";

/// The results of a forward graph that runs in microbatches, in the graph it was built into.
struct Microbatched {
  std::vector<NamedTensor> outputs;     // those of the forward graph, without the loss
  std::vector<Assignment> assignments;  // those of the forward graph
  std::vector<TensorId> gradients;      // of the loss by the trained variables, in their order
};

/// Builds `forward`, the last output of which is the loss, into `builder`, for a model that trains in several
/// microbatches. Rows of outputs are put together again, means of microbatches averaged. A tensor that takes
/// the whole batch at once is computed before the loop where it depends on data alone, and after it where the
/// loss does not need it. Gradients of a term of the loss that is no mean over rows, such as a penalty on
/// weights, are added after the loop. Throws UserError as find_cut does.
Microbatched add_microbatches(GraphBuilder& builder, const EntryGraph& forward, const Model& model);

}  // namespace mtfc
