#pragma once
// The cut of a forward graph at the loop over microbatches: it says which tensors are computed before the
// loop, which once in each of its rounds, and which after it. The cut is found before anything is built, from
// how the tensors use the rows of the batch (core/rewrite/batch_uses.h).
//
//   y = f(x, w)               loop    row by row
//   mean = reduce_mean(y)     loop    each round gives the mean over its own rows
//   penalty = sum(w * w)      before  it does not depend on the batch
//   loss = mean + penalty     after   the tail of the loss: linear in `mean`, uses `w` directly

#include <string>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"
#include "core/rewrite/batch_uses.h"

namespace mtfc {

enum class Stage { kBefore, kLoop, kAfter };

/// A dimension that holds the rows of the batch: as [units, number, unit], its elements are those of one
/// microbatch for each index along `number`.
struct RowDim {
  Dim whole;
  Dim part;   // the same dimension in one microbatch
  Dim units;  // the units of rows in one microbatch
  Dim unit;   // the elements of a unit; of size 1 if the dimension has one for each unit
};

struct MicrobatchDims {
  Dim batch;                      // the dimension that is cut, with all its rows
  Dim number;                     // a dimension of its own that counts the microbatches
  std::vector<RowDim> rows = {};  // the batch and the dimensions into which reshapes turn it

  /// The dimension of rows that is called `name`, or nullptr.
  const RowDim* find(std::string_view name) const;
};

/// The computation between the loop and the loss. The loss is linear in the tensors of `reduced`, so that its
/// gradients by them do not depend on their values.
struct LossTail {
  std::vector<TensorId> reduced;   // computed in the loop; only the loss itself where the loop computes it
  std::vector<const Node*> nodes;  // from these to the loss, in order
  std::vector<bool>
      uses_variables;  // per trained variable: the loss depends on it not only through `reduced`
};

/// Refers to the forward graph and to the model, which must outlive it.
struct LoopCut {
  const Graph& graph;
  const TrainSpec& train;
  MicrobatchDims dims;
  std::vector<std::string> trained;  // names of the trained variables
  BatchUses uses;
  PerTensor<Stage> stages;
  TensorId loss = kNoTensor;
  LossTail tail = {};
  std::vector<TensorId> rows = {};       // computed in the loop row by row, and needed after it
  std::vector<TensorId> sums = {};       // reduced over rows in the loop, and needed after it
  std::vector<const Node*> before = {};  // computed before the loop, in order
  std::vector<const Node*> after = {};   // computed after the loop, in order; only what is needed
  std::vector<bool> rounded =
      {};  // per trained variable: a step without microbatches gives its gradient in bf16

  Stage stage(TensorId id) const { return stages[id]; }
  BatchUse use(TensorId id) const { return uses.use[id]; }
  bool is_learned(TensorId id) const { return uses.learned[id]; }
  bool has_batch(const Dims& of) const { return row_position(of, uses.row_dims) >= 0; }
};

/// Cuts `forward`, whose last output is the loss, for a model that trains in microbatches. Throws UserError
/// where the inputs do not begin with one dimension that the number of microbatches divides, where a trained
/// variable has a dimension of rows, where the loss is not linear in means or sums over it, and where a gradient that
/// the model asks for leads through the loop.
LoopCut find_cut(const EntryGraph& forward, const Model& model);

}  // namespace mtfc
