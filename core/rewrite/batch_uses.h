#pragma once
// Finds how each tensor of a graph depends on the rows of a batch, and which can be computed from a part of it.

#include <vector>

#include "core/graph/graph.h"

namespace mtfc {

enum class BatchUse {
  kNone,   // the same whatever the batch holds
  kRows,   // has a dimension of rows, and each unit of rows comes from the same unit of the inputs
  kMean,   // over the batch it is the mean of what equal parts of it give; see `adds` of BatchUses
  kSum,    // whole numbers: it is the sum of what parts of the batch give
  kWhole,  // it takes all rows at once
};

/// A reshape that would turn the rows into a dimension of which the microbatches would cut elements.
struct CutReshape {
  TensorId result;
  Dim dim;
};

struct BatchUses {
  PerTensor<BatchUse> use;
  /// The dimensions that hold the rows: the batch, and those into which reshapes turn it, as they turn [batch=8,
  /// length=6] into [groups=4, tokens=12]. A tensor of kRows has one of them.
  std::vector<Dim> row_dims;
  /// A unit is the smallest number of rows of which every dimension of rows has whole elements. Here there are
  /// four of them, of two rows or one group each.
  int64_t units;
  std::vector<CutReshape> cut_reshapes;
  /// For kMean and kSum: true if the tensor's own operation reduces the rows, false if it is a linear function of
  /// tensors in which they have been reduced.
  PerTensor<bool> reduced;
  /// Set if rows are added up: the mean over microbatches must then be multiplied by their number to be the value
  /// of the whole batch. reduce_mean(x) needs no factor, reduce_sum(x) does.
  PerTensor<bool> adds;
  /// Depends on a variable that is trained or on random numbers, not on data alone.
  PerTensor<bool> learned;
};

/// `batch`: the first dimension of the inputs, to be cut into `microbatches` parts of whole units. `total / count` is
/// taken for a mean if `count` depends on data alone (it is not `learned`), because the data of all microbatches are
/// known before the first one runs. Composites are looked at as the operations that they expand into. Example:
/// loss = reduce_mean(softmax_cross_entropy(x·w, labels)) has x·w and the cross-entropy as kRows, the loss as kMean, w
/// as kNone; exp(loss) is kWhole, and so is a softmax over the batch.
BatchUses batch_uses(const Graph& graph, const Dim& batch, const std::vector<std::string>& trained,
                     int64_t microbatches);

/// The position in `dims` of the dimension that holds rows, or -1.
int row_position(const Dims& dims, const std::vector<Dim>& row_dims);

}  // namespace mtfc
