#include "runtime/compute/dropout_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tensors/random_bits.h"
#include "runtime/compute/philox_lanes.h"
#include "runtime/compute/run_widest.h"

namespace mtfc {
namespace {

constexpr int64_t kTogether = 4 * PhiloxLanes::kLanes;  // draws that are made together

template <typename T>
struct Factors {
  uint64_t key;
  uint32_t threshold;
  T grown;
  Interval columns;
  T* factors;

  MTFC_INLINE void run(const Factors& work) {
    PhiloxLanes lanes;
    const int64_t end = work.columns.end;
    for (int64_t base = work.columns.begin / kTogether * kTogether; base < end; base += kTogether) {
      lanes.count_from(static_cast<uint64_t>(base / 4), 0, 0);
      lanes.run(static_cast<uint32_t>(work.key), static_cast<uint32_t>(work.key >> 32));
      T found[kTogether];
      for (int64_t word = 0; word < 4; ++word)
#pragma omp simd
        for (int64_t lane = 0; lane < PhiloxLanes::kLanes; ++lane)
          found[word * PhiloxLanes::kLanes + lane] =
              lanes.words[word][lane] < work.threshold ? T{0} : work.grown;
      const int64_t from = std::max(base, work.columns.begin), to = std::min(base + kTogether, end);
      std::copy(found + (from - base), found + (to - base), work.factors + (from - work.columns.begin));
    }
  }
};

}  // namespace

template <typename T>
void dropout_factors(int64_t row_number, double rate, Interval columns, T* factors) {
  constexpr double kMost = std::numeric_limits<uint32_t>::max();
  run_widest(Factors<T>{mixed(static_cast<uint64_t>(row_number)),
                        static_cast<uint32_t>(std::min(kMost, std::round(rate * (kMost + 1)))),
                        static_cast<T>(1 / (1 - rate)), columns, factors});
}

template void dropout_factors(int64_t, double, Interval, float*);
template void dropout_factors(int64_t, double, Interval, double*);

}  // namespace mtfc
