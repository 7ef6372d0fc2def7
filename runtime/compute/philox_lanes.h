#pragma once
// Philox4x32-10 (runtime/compute/random.h) for several counters at once, in loops that compile to vectors. The caller
// is compiled for the vectors that it wants (runtime/compute/vector_targets.h).

#include <cstdint>

namespace mtfc {

struct PhiloxLanes {
  static constexpr int64_t kLanes = 16;
  uint32_t words[4][kLanes];  // of each counter, then of each result

  /// Sets the counters to {low word of a block, its high word, third, fourth}, for consecutive blocks from `first` on,
  /// which is a multiple of kLanes.
  [[gnu::always_inline]] void count_from(uint64_t first, uint32_t third, uint32_t fourth) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      words[0][lane] = static_cast<uint32_t>(first) + static_cast<uint32_t>(lane);
      words[1][lane] = static_cast<uint32_t>(first >> 32);
      words[2][lane] = third;
      words[3][lane] = fourth;
    }
  }

  [[gnu::always_inline]] void run(uint32_t key0, uint32_t key1) {
    auto& [a, b, c, d] = words;
    for (int round = 0; round < 10; ++round) {
#pragma omp simd
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const uint64_t x = uint64_t{0xd2511f53} * a[lane], y = uint64_t{0xcd9e8d57} * c[lane];
        a[lane] = static_cast<uint32_t>(y >> 32) ^ b[lane] ^ key0;
        c[lane] = static_cast<uint32_t>(x >> 32) ^ d[lane] ^ key1;
        b[lane] = static_cast<uint32_t>(y);
        d[lane] = static_cast<uint32_t>(x);
      }
      key0 += 0x9e3779b9;
      key1 += 0xbb67ae85;
    }
  }
};

}  // namespace mtfc
