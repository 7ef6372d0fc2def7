#pragma once
// Places blocks with lifetimes in one arena: blocks alive at the same time never overlap.

#include <cstdint>
#include <vector>

namespace mtfc {

struct ArenaBlock {
  int64_t bytes = 0;
  int first_step = 0;
  int last_step = 0;   // inclusive
  int64_t offset = 0;  // the answer
};

/// Sets the offsets (multiples of `alignment`) and returns the bytes of the whole arena. Time is
/// O(n log n) in the number of blocks; small sets are also tried largest-first, and the smaller plan wins.
int64_t place_blocks(std::vector<ArenaBlock>& blocks, int64_t alignment);

}  // namespace mtfc
