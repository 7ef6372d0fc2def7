#pragma once
// The gradients of the scores of an attention, a tile at a time: the common part of the kernels of its gradients.
// Weights are computed again from the operands.

#include <vector>

#include "runtime/compute/attention_plan.h"

namespace mtfc {

/// The plan of a gradient, and where its operands lie.
struct BackwardPlan {
  explicit BackwardPlan(const KernelSite& site);
  AttentionPlan plan;
  VectorPlaces q, k, v, total, delta, given;
};

/// One tile, in the memory of one thread. Its rows are queries and its columns positions of the memory.
template <typename T>
class BackwardTile {
 public:
  static constexpr int64_t kRows = AttentionPlan::kTileQueries, kColumns = AttentionPlan::kTilePositions;

  explicit BackwardTile(const BackwardPlan& plan);

  /// Reads what belongs to these queries at position b of the batch.
  void begin(const KernelRun& run, int64_t b, Interval rows);
  /// Computes the tile of these queries and columns.
  void compute(Interval columns);
  /// Turns the gradients of scores as they are when a bias is added into those of the products q k, which differ where
  /// scores are capped.
  void pass_cap(Interval columns);

  /// Those of the queries and of the columns.
  RowMatrix<T> q() const { return q_; }
  RowMatrix<T> given() const { return given_; }
  RowMatrix<T> k() const { return k_; }
  /// The weights by which values are multiplied, dropout included, and the gradients of scores. Rows are kColumns
  /// elements apart.
  const T* weights() const { return weights_.data(); }
  const T* gradients() const { return gradients_.data(); }

 private:
  const T* operand(size_t i) const;

  const BackwardPlan& w_;
  const KernelRun* run_ = nullptr;
  int64_t b_ = 0;
  Interval rows_;
  RowMatrix<T> q_{}, given_{}, k_{};
  struct {
    std::vector<T> q, given, k, v;
  } copies_;
  std::vector<T> weights_, gradients_, dropout_, slopes_, totals_, deltas_;
};

}  // namespace mtfc
