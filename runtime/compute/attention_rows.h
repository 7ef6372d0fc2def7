#pragma once
// The loops over the scores of one tile of an attention: some queries to some positions of the memory.

#include <cstdint>

namespace mtfc {

inline constexpr int64_t kScoreVector = 16;

/// Scores of `rows` queries to `columns` positions, with room in each row for a multiple of kScoreVector. A score of
/// -inf is one that is not seen.
template <typename T>
struct ScoreTile {
  T* scores;
  int64_t leading;  // elements between rows, a multiple of kScoreVector
  int64_t rows, columns;
};

/// The state of each query's softmax after some tiles: the largest score so far, and the sum of exp(score - largest).
/// When a tile has a larger score, sums over earlier tiles must be multiplied by a factor, which is 1 otherwise.
template <typename T>
struct RunningSoftmax {
  T* largest;
  T* sums;
  T* factors;
};

/// Replaces scores by exp(score - largest) and brings the running values up to date. T: float, double.
template <typename T>
void add_exponentials(const ScoreTile<T>& tile, const RunningSoftmax<T>& running);

/// Replaces scores by cap * tanh(score / cap), for a cap above 0. `slopes`, which has the tile's leading dimension,
/// gets the derivatives unless it is null. T: float, double.
template <typename T>
void cap_scores(const ScoreTile<T>& tile, T cap, T* slopes);

/// Some rows of a matrix, `leading` elements apart, each of `width` elements side by side.
template <typename T>
struct Rows {
  const T* at;
  int64_t leading;
  int64_t count, width;
};

/// The scores of one query: its dot products with rows. For one query, BLAS would take longer to start than to compute.
template <typename T>
void dot_rows(const T* query, const Rows<T>& rows, T* scores);

/// Adds rows, each times its weight, to `sum`.
template <typename T>
void add_weighted_rows(const T* weights, const Rows<T>& rows, T* sum);

/// Replaces scores by the weights exp(score - total).
template <typename T>
void replace_by_weights(const ScoreTile<T>& tile, const T* totals);

/// Multiplies each element by that of `factors`, which has the tile's leading dimension.
template <typename T>
void multiply_elements(const ScoreTile<T>& tile, const T* factors);

/// Replaces each element of `gradients`, those of weights, by weight * (gradient - delta of the row): those of scores.
template <typename T>
void replace_by_score_gradients(const ScoreTile<T>& weights, T* gradients, const T* deltas);

}  // namespace mtfc
