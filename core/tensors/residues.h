#pragma once
// Counts the indices that two regions of different shapes have in common, without listing any.
//
// A region of a shape is a set of flat indices: an interval of a dimension limits the remainder of the index. The
// rows [2, 5) of [a8, b10] are the indices x with x mod 80 in [20, 50), and the columns [3, 6) those with x mod 10 in
// [3, 6). If the period of one region divides that of the other, their pattern repeats, and one repetition is looked
// at. For two periods that do not, the count is a sum of rounded fractions, which takes as many steps as Euclid's
// algorithm.

#include <cstdint>
#include <vector>

#include "core/tensors/sharding.h"

namespace mtfc {

/// The indices x with x mod period in `held`, which is a part of [0, period).
struct Residues {
  int64_t period = 1;
  Interval held;
};
/// The indices that are in all of them. Each period divides the one before.
using ResidueList = std::vector<Residues>;

/// The dimensions [begin, end) of the box, as residues of the index into these dimensions.
ResidueList residues_of(const Dims& dims, const Box& box, size_t begin, size_t end);

/// The number of indices in `range` that are in both lists. `range` begins at 0 or later.
int64_t count_common(Interval range, const ResidueList& first, const ResidueList& second);

/// The ranges that count_common() has looked at in this thread so far: its work, for tests.
int64_t ranges_counted();

}  // namespace mtfc
