#pragma once
// The kernels of attention and of its gradient share this plan. It knows where queries and positions of the memory lie
// in the operands, and which positions a query sees. The kernels compute one tile of scores at a time.

#include <optional>
#include <vector>

#include "core/op_rules/attention.h"
#include "runtime/compute/blas.h"
#include "runtime/compute/kernel.h"

namespace mtfc {

/// Vectors of one tensor, in elements: that of row r at position b of the batch begins at batch[b] + rows[r], and its
/// elements are `step` apart.
struct VectorPlaces {
  std::vector<int64_t> batch, rows;
  int64_t step = 1;
  int64_t width = 1;
  int64_t leading = 0;  // the distance between rows that BLAS may use; 0: rows must be copied side by side
  int64_t at(int64_t b, int64_t row) const {
    return batch[static_cast<size_t>(b)] + rows[static_cast<size_t>(row)];
  }
};

/// Rows of a matrix that BLAS can read.
template <typename T>
struct RowMatrix {
  const T* at;
  int64_t leading;
};

class AttentionPlan {
 public:
  /// Tiles of scores: so many queries, and at most so many positions, which fit in a second-level cache together with
  /// the vectors that they belong to.
  static constexpr int64_t kTileQueries = kQueriesTogether, kTilePositions = 256;

  /// `extras`: the index of the first operand that only some attentions have.
  AttentionPlan(const KernelSite& site, size_t extras);

  int64_t batch = 1, queries = 1, positions = 1;
  /// For each query of this device, its number among those of `result`; -1 if it is one of another device, which is
  /// read for its part in the gradients of the memory.
  std::vector<int64_t> queries_in(const LocalTensor& result) const;
  /// The positions of the memory whose gradients `result` has.
  Interval memory_in(const LocalTensor& result) const;
  /// The vectors of an operand or result, each along `last`; those of one element along no dimension.
  VectorPlaces of_queries(const LocalTensor& tensor, const Dims& last) const {
    return vectors_of(tensor, dims_.queries, last);
  }
  VectorPlaces of_memory(const LocalTensor& tensor, const Dims& last) const {
    return vectors_of(tensor, {dims_.memory}, last);
  }
  /// The vectors along the memory of a tensor with some of the dimensions of the scores, one for each query.
  VectorPlaces of_scores(const LocalTensor& tensor) const;
  const AttentionDims& dims() const { return dims_; }

  /// The positions that some of these queries may see.
  Interval seen_by(Interval queries) const;
  /// The positions from the first to the last one that some of these queries see, by the mask as well.
  Interval seen_by(const KernelRun& run, int64_t b, Interval queries) const;
  /// Adds the bias, and sets scores to -inf where a query does not see a position. `scores` has a row of kTilePositions
  /// for each query. Capped scores are capped before (cap_scores).
  template <typename T>
  void finish_scores(const KernelRun& run, int64_t b, Interval queries, Interval positions, T* scores) const;
  double scale() const { return bend_.scale; }
  /// 0: scores are not capped.
  double cap() const { return bend_.cap; }
  /// Rows of q as a matrix, multiplied by the scale of the scores.
  template <typename T>
  RowMatrix<T> scaled_rows(const VectorPlaces& places, const T* q, int64_t b, Interval rows, T* copy) const;
  bool has_dropout() const { return draws_places_.has_value(); }
  /// Writes the factors by which dropout multiplies the weights, in rows like those of `scores`.
  template <typename T>
  void fill_dropout(const KernelRun& run, int64_t b, Interval queries, Interval positions, T* factors) const;

 private:
  VectorPlaces vectors_of(const LocalTensor& tensor, const Dims& rows, const Dims& last) const;
  Interval seen_by(int64_t query) const;
  template <typename T>
  void add_bias(const KernelRun& run, int64_t b, Interval queries, Interval positions, T* scores) const;

  AttentionDims dims_;
  std::vector<int64_t> batch_extents_;
  std::vector<Interval> held_queries_;  // along each of their dimensions
  int64_t origin_ = 0;                  // the first position that this device holds
  std::vector<int64_t> along_;          // of each query, along the memory; empty if it does not matter
  bool causal_ = false;
  int64_t window_ = 0;
  AttentionExtras extras_;
  std::optional<VectorPlaces> mask_places_;   // a vector along the memory for each query, true where it sees
  std::optional<VectorPlaces> bias_places_;   // likewise, of numbers
  std::optional<VectorPlaces> draws_places_;  // a number for each query
  double rate_ = 0;                           // of dropout
  struct {
    double scale, cap;
  } bend_;  // of the scores
};

/// Rows of vectors as a matrix: in place if they lie so, otherwise copied to `copy`.
template <typename T>
RowMatrix<T> rows_of(const VectorPlaces& places, const T* tensor, int64_t b, Interval rows, T* copy);
template <typename T>
void copy_rows(const VectorPlaces& places, const T* tensor, int64_t b, Interval rows, T* copy);
/// Writes rows that lie side by side to their places.
template <typename T>
void put_rows(const VectorPlaces& places, const T* rows_side_by_side, int64_t b, Interval rows, T* tensor);

}  // namespace mtfc
