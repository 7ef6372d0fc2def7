#include "runtime/data/row_order.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/tensors/random_bits.h"

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

double unit(uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

int64_t RowOrder::at(int64_t rows, int64_t position) {
  Epochs& epochs = by_rows_[rows];
  const int64_t epoch = position / rows;
  const size_t slot = static_cast<size_t>(epoch % 2);
  if (epochs.number[slot] != epoch) {
    epochs.number[slot] = epoch;
    std::vector<int64_t>& order = epochs.order[slot];
    order.resize(static_cast<size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    const uint64_t key = mixed(mixed(seed_) + static_cast<uint64_t>(epoch));
    for (uint64_t i = order.size(); i > 1; --i) {
      const auto j = static_cast<uint64_t>(unit(mixed(key ^ mixed(i))) * static_cast<double>(i));
      std::swap(order[i - 1], order[std::min(j, i - 1)]);
    }
  }
  return epochs.order[slot][static_cast<size_t>(position % rows)];
}

int64_t window_at(uint64_t seed, int64_t windows, int64_t position) {
  const auto count = static_cast<uint64_t>(windows);
  const auto epoch = static_cast<uint64_t>(position / windows);
  const uint64_t key = mixed(mixed(seed) + epoch);
  const int half = (static_cast<int>(std::bit_width(count - 1)) + 1) / 2;
  // Permutes numbers beyond the windows again until they are one: the result is still a permutation, of the
  // windows alone. Fewer than three in four numbers are beyond.
  auto number = static_cast<uint64_t>(position % windows);
  do number = feistel(number, half, key);
  while (number >= count);
  return static_cast<int64_t>(number);
}

}  // namespace mtfc
