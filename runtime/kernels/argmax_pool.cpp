#include "core/op_rules/windows.h"
#include "runtime/compute/pooling.h"
#include "runtime/compute/prepare_typed.h"
#include "runtime/compute/reduction_kinds.h"
#include "runtime/compute/run_widest.h"

namespace mtfc::argmax_pool_kernel {
namespace {

constexpr int32_t kNoTap = -1;

/// The largest element of each lane and its tap; the first NaN counts as the largest.
template <typename T>
struct Searching {
  using Numbers = typename PoolVectors<T>::Numbers;
  using Taps = typename PoolVectors<T>::Taps;
  using NarrowTaps = typename PoolVectors<T>::NarrowTaps;
  static constexpr int64_t kLanes = PoolVectors<T>::kLanes;

  const T* from;
  T* largest;
  int32_t* taps;
  std::span<const PoolMeeting> meetings;
  int64_t lanes;
  int64_t from_step, largest_step, taps_step;
  bool side_by_side;

  /// V vectors of lanes, from lane i on; there is some meeting.
  template <int64_t V>
  MTFC_INLINE void find(const Searching& s, int64_t i) {
    Numbers best[V];
    Taps taps[V];
    const T* const first = s.from + i + s.meetings[0].offset[0];
#pragma GCC unroll 4
    for (int64_t v = 0; v < V; ++v)
      best[v] = loaded<Numbers>(first + v * kLanes), taps[v] = Taps{} + s.meetings[0].tap;
    for (const PoolMeeting& m : s.meetings.subspan(1)) {
      const T* const at = s.from + i + m.offset[0];
#pragma GCC unroll 4
      for (int64_t v = 0; v < V; ++v) {
        const Numbers value = loaded<Numbers>(at + v * kLanes);
        const Taps better = (value > best[v]) | ((value != value) & (best[v] == best[v]));
        best[v] = better ? value : best[v];
        taps[v] = better ? Taps{} + m.tap : taps[v];
      }
    }
#pragma GCC unroll 4
    for (int64_t v = 0; v < V; ++v) {
      store(best[v], s.largest + i + v * kLanes);
      store(__builtin_convertvector(taps[v], NarrowTaps), s.taps + i + v * kLanes);
    }
  }

  MTFC_INLINE void find_one(const Searching& s, int64_t i) {
    T best = Max<T>::identity();
    int32_t tap = kNoTap;
    for (const PoolMeeting& m : s.meetings) {
      const T value = s.from[i * s.from_step + m.offset[0]];
      if (tap != kNoTap && !(value > best) && !(value != value && best == best)) continue;
      best = value;
      tap = m.tap;
    }
    s.largest[i * s.largest_step] = best;
    s.taps[i * s.taps_step] = tap;
  }

  MTFC_INLINE void run(const Searching& s) {
    int64_t i = 0;
    if (s.side_by_side && !s.meetings.empty()) {
      for (; i + 4 * kLanes <= s.lanes; i += 4 * kLanes) find<4>(s, i);
      for (; i + kLanes <= s.lanes; i += kLanes) find<1>(s, i);
    }
    for (; i < s.lanes; ++i) find_one(s, i);
  }
};

template <typename T>
Kernel prepare(const KernelSite& site) {
  const PoolPlan plan(windows_of(site.attributes), PoolPlan::Direction::kForward,
                      {&site.results[0], &site.results[1]}, {&site.operands[0]});
  return [plan, flops = site.results[0].elements() * plan.taps()](const KernelRun& run) {
    const auto* const x = reinterpret_cast<const T*>(run.operands[0]);
    auto* const y = reinterpret_cast<T*>(run.results[0]);
    auto* const taps = reinterpret_cast<int32_t*>(run.results[1]);
    plan.run([&](const PoolRow& row) {
      run_widest(Searching<T>{x + row.far[0], y + row.near[0], taps + row.near[1], row.meetings, row.lanes,
                              plan.far_steps[0], plan.near_steps[0], plan.near_steps[1], plan.side_by_side});
    });
    return flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        prepare_typed(WideNumbers{}, []<typename T>(const KernelSite& site) { return prepare<T>(site); }),
};

}  // namespace mtfc::argmax_pool_kernel
