#pragma once
// The order in which training takes the rows of finite sources: one pseudo-random permutation per epoch and
// seed.
//
// Rows of arrays follow a shuffled list; another order would change the results of runs that people repeat. A
// text has a window for every token, too many for a list; their permutation is computed, without any memory,
// for the windows that a device asks for.

#include <cstdint>
#include <map>
#include <vector>

namespace mtfc {

/// A number in (0, 1) from the upper bits.
double unit(uint64_t bits);

class RowOrder {
 public:
  explicit RowOrder(uint64_t seed) : seed_(seed) {}
  /// The row at `position` in the endless sequence of epochs of `rows` rows.
  int64_t at(int64_t rows, int64_t position);

 private:
  struct Epochs {  // the two most recent ones: a batch may extend over both
    int64_t number[2] = {-1, -1};
    std::vector<int64_t> order[2];
  };
  uint64_t seed_;
  std::map<int64_t, Epochs> by_rows_;
};

/// The window at `position` in the endless sequence of epochs of `windows` windows.
int64_t window_at(uint64_t seed, int64_t windows, int64_t position);

}  // namespace mtfc
