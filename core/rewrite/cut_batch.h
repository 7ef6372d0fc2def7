#pragma once
// A training step whose batch is cut into N microbatches, one after the other. Gradients are added up and the
// update is made once, so that a device holds the activations of only one microbatch. The result is that of
// the whole batch.
//
//   loss = reduce_mean(f(x, w))    ->    xs = reshape(x, [batch/N, N])
//                                        sums = loop N times { x = xs[:, p]; loss, dloss/dw }
//                                        loss = sums[0] / N, w/grad = sums[1] / N
//
// Three steps: find_cut decides where each tensor is computed (core/rewrite/microbatch_cut.h), build_loop
// builds the loop (core/rewrite/microbatch_loop.h), and this puts together what comes before, the loop, and
// what comes after it.

#include "core/graph/entry_graph.h"
#include "core/model/model.h"

namespace mtfc {

/// Gives `forward`, the part of a training step before gradients, these gradients, named as with_updates() in
/// core/model/entry_points.h needs them, if `model` trains in several microbatches. The last output is the loss. Rows
/// of outputs are put together again, means of microbatches averaged. A tensor that takes the whole batch at once is
/// computed before the loop where it depends on data alone, and after it where the loss does not need it. Gradients of
/// a term of the loss that is no mean over rows, such as a penalty on weights, are added after the loop. Throws
/// UserError as find_cut does.
EntryGraph cut_batch(EntryGraph forward, const Model& model);

}  // namespace mtfc
