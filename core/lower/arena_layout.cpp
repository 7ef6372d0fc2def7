#include "core/lower/arena_layout.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/tensors/alignment.h"

namespace mtfc {
namespace {

// The free stretches of the arena below its current end.
class FreeList {
 public:
  explicit FreeList(int64_t& end) : end_(end) {}

  // Takes the smallest gap that fits; if none does, the arena grows at its end.
  int64_t take(int64_t bytes) {
    auto best = gaps_.end();
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap)
      if (gap->second >= bytes && (best == gaps_.end() || gap->second < best->second)) best = gap;
    int64_t offset = end_;
    if (best != gaps_.end()) {
      offset = best->first;
    } else if (!gaps_.empty() && std::prev(gaps_.end())->first + std::prev(gaps_.end())->second == end_) {
      best = std::prev(gaps_.end());
      offset = best->first;
    }
    const int64_t gap_bytes = best == gaps_.end() ? 0 : best->second;
    if (best != gaps_.end()) gaps_.erase(best);
    if (gap_bytes > bytes) gaps_[offset + bytes] = gap_bytes - bytes;
    end_ = std::max(end_, offset + bytes);
    return offset;
  }

  void give(int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    auto next = gaps_.lower_bound(offset);
    if (next != gaps_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = gaps_.erase(next);
    }
    if (next != gaps_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        previous->second += bytes;
        return;
      }
    }
    gaps_[offset] = bytes;
  }

 private:
  std::map<int64_t, int64_t> gaps_;  // offset -> bytes
  int64_t& end_;
};

int64_t place_by_time(std::vector<ArenaBlock>& blocks, int64_t alignment) {
  std::vector<size_t> by_start(blocks.size()), by_end(blocks.size());
  std::iota(by_start.begin(), by_start.end(), 0);
  by_end = by_start;
  std::stable_sort(by_start.begin(), by_start.end(), [&](size_t a, size_t b) {
    if (blocks[a].first_step != blocks[b].first_step) return blocks[a].first_step < blocks[b].first_step;
    return blocks[a].bytes > blocks[b].bytes;
  });
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](size_t a, size_t b) { return blocks[a].last_step < blocks[b].last_step; });
  int64_t end = 0;
  FreeList free(end);
  size_t ended = 0;
  for (const size_t b : by_start) {
    for (; ended < by_end.size() && blocks[by_end[ended]].last_step < blocks[b].first_step; ++ended)
      free.give(blocks[by_end[ended]].offset, aligned(blocks[by_end[ended]].bytes, alignment));
    blocks[b].offset = free.take(aligned(blocks[b].bytes, alignment));
  }
  return end;
}

int64_t place_by_size(std::vector<ArenaBlock>& blocks, int64_t alignment) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  int64_t end = 0;
  std::vector<size_t> placed;  // by offset
  for (const size_t b : order) {
    const int64_t bytes = aligned(blocks[b].bytes, alignment);
    int64_t offset = 0;
    for (const size_t other : placed) {
      const ArenaBlock& taken = blocks[other];
      if (taken.last_step < blocks[b].first_step || blocks[b].last_step < taken.first_step) continue;
      if (taken.offset - offset >= bytes) break;
      offset = std::max(offset, taken.offset + aligned(taken.bytes, alignment));
    }
    blocks[b].offset = offset;
    placed.insert(std::upper_bound(placed.begin(), placed.end(), b,
                                   [&](size_t x, size_t y) { return blocks[x].offset < blocks[y].offset; }),
                  b);
    end = std::max(end, offset + bytes);
  }
  return end;
}

}  // namespace

int64_t place_blocks(std::vector<ArenaBlock>& blocks, int64_t alignment) {
  constexpr size_t kQuadratic = 2000;
  const int64_t end = place_by_time(blocks, alignment);
  if (blocks.size() > kQuadratic) return end;
  std::vector<ArenaBlock> other = blocks;
  const int64_t other_end = place_by_size(other, alignment);
  if (other_end >= end) return end;
  blocks = std::move(other);
  return other_end;
}

}  // namespace mtfc
