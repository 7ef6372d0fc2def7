#include "core/lower/arena_layout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace mtfc::arena_layout_test {
namespace {

void check_plan(const std::vector<ArenaBlock>& blocks, int64_t end) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    REQUIRE(blocks[i].offset % 64 == 0);
    REQUIRE(blocks[i].offset + blocks[i].bytes <= end);
    for (size_t j = 0; j < i; ++j) {
      const ArenaBlock &a = blocks[i], &b = blocks[j];
      const bool together = a.first_step <= b.last_step && b.first_step <= a.last_step;
      const bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      REQUIRE_FALSE((together && overlap && a.bytes > 0 && b.bytes > 0));
    }
  }
}

TEST_CASE("blocks alive at the same time do not overlap, and the arena is close to the most that is alive") {
  std::mt19937 random(7);
  for (const int count : {1, 10, 300, 2500}) {
    std::vector<ArenaBlock> blocks;
    std::vector<int64_t> alive(1001);
    for (int i = 0; i < count; ++i) {
      const int first = static_cast<int>(random() % 1000),
                last = std::min(999, first + static_cast<int>(random() % 20));
      blocks.push_back({static_cast<int64_t>(random() % 5000), first, last, 0});
      for (int s = first; s <= last; ++s)
        alive[static_cast<size_t>(s)] += (blocks.back().bytes + 63) / 64 * 64;
    }
    const int64_t end = place_blocks(blocks, 64);
    check_plan(blocks, end);
    const int64_t bound = *std::max_element(alive.begin(), alive.end());
    CHECK(end >= bound);
    CHECK(end <= bound * 3 / 2);
  }
}

TEST_CASE("a block that ends makes room for the next") {
  std::vector<ArenaBlock> blocks = {{64, 0, 1, 0}, {64, 2, 3, 0}, {64, 1, 2, 0}};
  CHECK(place_blocks(blocks, 64) == 128);
}

}  // namespace
}  // namespace mtfc::arena_layout_test
