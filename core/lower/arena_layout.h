#pragma once
// Places blocks with lifetimes in one arena. Blocks that are alive at the same time never overlap.
//
//   a [0..1] 128 bytes, b [1..2] 64 bytes, c [2..3] 128 bytes   ->   a and c at 0, b at 128; 192 bytes

#include <cstdint>
#include <vector>

namespace mtfc {

struct ArenaBlock {
  int64_t bytes = 0;
  int first_step = 0;
  int last_step = 0;   // inclusive
  int64_t offset = 0;  // set by place_blocks
};

/// Sets the offsets (multiples of `alignment`) and returns the bytes of the whole arena. Takes O(n log n)
/// time in the number of blocks; small sets are placed largest-first, too, and the smaller plan wins.
int64_t place_blocks(std::vector<ArenaBlock>& blocks, int64_t alignment);

}  // namespace mtfc
