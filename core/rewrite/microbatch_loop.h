#pragma once
// The loop over the microbatches: a graph for one round, and what the graph around it hands to the loop.
//
// A round picks its rows of every input, computes all that the cut puts into the loop, and the gradients of
// its share of the loss. Unit i of microbatch p is unit i * N + p of the batch, so that devices which share the
// rows have an equal share of every microbatch. A unit is a row, or several where a reshape makes groups of them.
//
//   operands   p, rows so far of y, reshape(x, [batch/N, N]), w
//   round p    x_p = x[:, p]; y_p = f(x_p, w); l = reduce_mean(y_p)
//   results    p + 1, y with y_p as its rows :, p;   sums: l, dl/dw

#include <memory>
#include <vector>

#include "core/graph/graph.h"
#include "core/rewrite/microbatch_cut.h"

namespace mtfc {

/// Per tensor of the forward graph the tensor of another graph that stands for it, or kNoTensor.
using TensorMap = PerTensor<TensorId>;

/// Gradients of the loss, outside the loop. Empty where the loop computes the loss itself.
struct TailGradients {
  std::vector<TensorId> by_reduced;    // by each tensor of LossTail::reduced
  std::vector<TensorId> by_variables;  // per trained variable, past `reduced`; kNoTensor where there is none
};

/// The results of the loop are: the number of the round; `cut.rows`, each with its dimension of rows as [units,
/// number, unit]; and as sums `cut.sums` and a gradient for each trained variable.
struct MicrobatchLoop {
  std::shared_ptr<const GraphLoop> loop;
  std::vector<TensorId> operands;
};

/// `dims` with the dimension of rows replaced by [units, number, unit], or by [units, number] if a unit is one
/// element.
Dims in_microbatches(const Dims& dims, const MicrobatchDims& cut);

/// Builds the loop. `outside` holds the tensors of the stage kBefore as they are in `builder`. The builder
/// gets the operations that bring them into the form of the loop's operands.
MicrobatchLoop build_loop(GraphBuilder& builder, const LoopCut& cut, const TensorMap& outside,
                          const TailGradients& tail);

}  // namespace mtfc
