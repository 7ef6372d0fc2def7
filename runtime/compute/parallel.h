#pragma once
// Loops over threads. Results do not depend on timing: work is divided by position alone, or into items that each have
// a result of their own.

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/compute/busy_cores.h"
#include "runtime/compute/team.h"

namespace mtfc {

/// The threads that a loop of the calling thread would have, of the team that it leads or else of OpenMP: 1 within a
/// loop.
inline int64_t thread_count() {
  if (Team::is_running() || omp_in_parallel()) return 1;
  const Team* const team = Team::led();
  return team ? team->size() : omp_get_max_threads();
}

/// The number of the calling thread within a loop, below the thread_count() outside it.
inline int64_t thread_number() {
  return Team::is_running() ? Team::member() : omp_get_thread_num();
}

/// Below this many element operations, starting threads costs more than it gains.
inline constexpr int64_t kParallelWork = 32 * 1024;

/// Calls `f(begin, end)` for consecutive ranges of [0, count), one per thread if `work` (in element
/// operations) is large enough, otherwise once. `f` must not throw.
template <typename F>
void parallel_ranges(int64_t count, int64_t work, F f) {
  const int64_t threads = work < kParallelWork ? 1 : thread_count();
  if (threads <= 1 || count <= 1) {
    f(int64_t{0}, count);
    return;
  }
  const auto some = [&](int64_t part, int64_t parts) {
    const auto cut = [&](int64_t i) { return i * (count / parts) + i * (count % parts) / parts; };
    f(cut(part), cut(part + 1));
  };
  const int64_t parts = std::min(threads, count);
  if (Team* const team = Team::led()) {
    const auto part_of = [&](int64_t part) { some(part, parts); };
    return team->run(parts, part_of);
  }
  const auto share = [&] {
#pragma omp parallel num_threads(static_cast <int>(parts))
    some(omp_get_thread_num(), omp_get_num_threads());
  };
  if (work >= BusyCores::kShortWork) return share();
  BusyCores& busy = BusyCores::of_this_thread();
  const auto begin = BusyCores::Clock::now();
  if (!busy.may_share(begin)) {
    // In the same ranges as by threads, and with one thread in libraries, so that products have the same bits.
    omp_set_num_threads(1);
    for (int64_t part = 0; part < parts; ++part) some(part, parts);
    return omp_set_num_threads(static_cast<int>(threads));
  }
  share();
  busy.note(work, begin, BusyCores::Clock::now());
}

/// Calls `f(i)` for each i of [0, count). Threads take one item after another, so that all end at about the same time
/// even if some items take longer than others. Each must be large: some 10,000 element operations or more. `f` must not
/// throw.
template <typename F>
void parallel_items(int64_t count, F f) {
  std::atomic<int64_t> next = 0;
  // The items may be much larger, so this loop does not count as a short one.
  parallel_ranges(count, std::max(count * kParallelWork, BusyCores::kShortWork), [&](int64_t, int64_t) {
    for (int64_t i = next++; i < count; i = next++) f(i);
  });
}

inline constexpr int64_t kMostShared = 64;

/// Calls `f(i)` for each i of [0, count), at most kMostShared. Each thread does its own range first, the same one every
/// time, for which a team may have read ahead, and then takes from the end what others have not begun. `work` as in
/// parallel_ranges(). `f` must not throw.
template <typename F>
void parallel_shares(int64_t count, int64_t work, F f) {
  std::atomic<uint64_t> begun = 0;
  const auto begin_item = [&](int64_t i) {
    const uint64_t bit = uint64_t{1} << i;
    if ((begun.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) f(i);
  };
  parallel_ranges(count, work, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) begin_item(i);
    for (int64_t i = count - 1; i >= 0; --i)
      if (i < begin || i >= end) begin_item(i);
  });
}

}  // namespace mtfc
