#pragma once
// The inner loops of convolutions: tiles of the result, which stay in vector registers while products are added up.
//
// There are three kinds, which differ in what lies side by side in the operand x. Every element of x is read where it
// is, by way of a table of pointers; a pointer to zeros stands for padding.
//
//   add_runs     runs of contracted elements:   out[r][n] += a[e][r][j] * panel[e, j][n]
//   add_rows     rows of the result:            out[r][n] += a[e][first + r] * b[e][n]
//   add_lanes    positions of the group:        out[r][n] += a[e][r][n] * b[e][n]
//
// Entry e goes from 0 to `count`, element j of a run from 0 to `length`. Sums are added in this order, which depends on
// neither the number of threads nor the place of a tile.

#include <cstdint>

namespace mtfc {

template <typename T>
struct ConvTile {
  const T* const* a;       // for runs and lanes: of entry e and row r at e * rows + r; for rows: of entry e
  const T* const* b;       // of entry e; not for runs
  const T* panel;          // for runs alone: vectors of columns, one for each element of each entry
  int64_t count;           // entries; without any, the sums are zero
  int64_t length;          // for runs alone: their elements
  int64_t first;           // for rows alone: the number of the first one, counted from the pointers of `a`
  T* const* out;           // for each row
  const int64_t* columns;  // the place of each column in `out`; nullptr if columns lie side by side
  int64_t n;               // columns
  bool adds;               // to what is in `out`
};

/// The tile functions for this machine's vectors. A tile of runs or rows has at most `lanes * vectors` columns, in the
/// fewest vectors that hold them: panels and the rows at `b` are filled up with zeros to whole vectors. A tile of lanes
/// may have any number of them.
template <typename T>
struct ConvTiles {
  static constexpr int64_t kMostRows = 6, kMostVectors = 4, kLaneRows = 4;
  using Function = void (*)(const ConvTile<T>&);

  int64_t lanes = 0, vectors = 0;
  /// For some number of rows, at [vectors - 1]; nullptr for others. Use rows_at_once().
  Function runs[kMostRows + 1][kMostVectors] = {};
  Function rows[kMostRows + 1][kMostVectors] = {};
  Function of_lanes[kLaneRows + 1] = {};

  int64_t width() const { return lanes * vectors; }
  int64_t vectors_of(int64_t columns) const { return (columns + lanes - 1) / lanes; }
  int64_t padded(int64_t columns) const { return vectors_of(columns) * lanes; }

  static const ConvTiles& best();
};

/// The number of rows of the next tile, of those that are left.
inline int64_t rows_at_once(int64_t left) {
  return left >= 6 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}
inline int64_t lane_rows_at_once(int64_t left) {
  return left >= 4 ? 4 : 1;
}

}  // namespace mtfc
