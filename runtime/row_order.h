#pragma once
// The orders in which training takes the rows of finite sources: one pseudo-random permutation per epoch and
// seed.
//
// A permutation is computed, not stored, so that sources of any number of rows cost no memory, and every
// device asks for its own rows only.

#include <cstdint>

namespace mtfc {

/// The finalizer of splitmix64: a counter-based generator, so that any element can be drawn alone.
uint64_t mixed(uint64_t x);

class RowOrder {
 public:
  explicit RowOrder(uint64_t seed) : seed_(seed) {}
  /// The row at `position` of the endless sequence of epochs of `rows` rows.
  int64_t at(int64_t rows, int64_t position) const;

 private:
  uint64_t seed_;
};

}  // namespace mtfc
