#pragma once
// Loops over threads. Work is divided by position alone, so results do not depend on timing.

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace mtfc {

/// Below this many element operations, starting threads costs more than it gains.
inline constexpr int64_t kParallelWork = 32 * 1024;

/// Calls `f(begin, end)` for consecutive ranges of [0, count), one per thread if `work` (in element
/// operations) is large enough, otherwise once. `f` must not throw.
template <typename F>
void parallel_ranges(int64_t count, int64_t work, F f) {
  const int64_t threads = work < kParallelWork || omp_in_parallel() ? 1 : omp_get_max_threads();
  if (threads <= 1 || count <= 1) {
    f(int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(std::min(threads, count)))
  {
    const int64_t parts = omp_get_num_threads(), part = omp_get_thread_num();
    const auto cut = [&](int64_t i) { return i * (count / parts) + i * (count % parts) / parts; };
    f(cut(part), cut(part + 1));
  }
}

}  // namespace mtfc
