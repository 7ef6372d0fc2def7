#pragma once
// Loops over threads. Results do not depend on timing: work is divided by position alone, or into items that each have a
// result of their own.

#include <omp.h>

#include <algorithm>
#include <atomic>
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

/// Calls `f(i)` for each i of [0, count). Threads take one item after another, so that all end at about the same time
/// even if some items take longer than others. Each must be large: some 10,000 element operations or more. `f` must not throw.
template <typename F>
void parallel_items(int64_t count, F f) {
  std::atomic<int64_t> next = 0;
  parallel_ranges(count, count * kParallelWork, [&](int64_t, int64_t) {
    for (int64_t i = next++; i < count; i = next++) f(i);
  });
}

}  // namespace mtfc
