#include "runtime/row_order.h"

#include <bit>

namespace mtfc {
namespace {

constexpr int kRounds = 8;

// A permutation of the numbers of 2 * `half` bits (Luby and Rackoff 1988): each round mixes one half into the
// other.
uint64_t feistel(uint64_t number, int half, uint64_t key) {
  const uint64_t mask = (uint64_t{1} << half) - 1;
  uint64_t left = number >> half, right = number & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (mixed(key ^ mixed(right + (round << 32))) >> 16 & mask);
    left = right;
    right = next;
  }
  return left << half | right;
}

}  // namespace

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

int64_t RowOrder::at(int64_t rows, int64_t position) const {
  const auto count = static_cast<uint64_t>(rows);
  const auto epoch = static_cast<uint64_t>(position / rows);
  const uint64_t key = mixed(mixed(seed_) + epoch);
  const int half = (static_cast<int>(std::bit_width(count - 1)) + 1) / 2;
  // Numbers beyond the rows are permuted on until they are a row: still a permutation, of the rows alone.
  // Fewer than three in four numbers are beyond.
  auto number = static_cast<uint64_t>(position % rows);
  do number = feistel(number, half, key);
  while (number >= count);
  return static_cast<int64_t>(number);
}

}  // namespace mtfc
