#include "core/op_rules/windows.h"
#include "runtime/compute/pooling.h"
#include "runtime/compute/prepare_typed.h"
#include "runtime/compute/run_widest.h"

namespace mtfc::spread_pool_kernel {
namespace {

/// For each element of the result, the sum of the gradients of those places whose tap meets it.
template <typename T>
struct Collecting {
  using Number = WrappingType<T>;
  using Numbers = typename PoolVectors<Number>::Numbers;
  using Taps = typename PoolVectors<Number>::Taps;
  using NarrowTaps = typename PoolVectors<Number>::NarrowTaps;
  static constexpr int64_t kLanes = PoolVectors<Number>::kLanes;

  const Number* gradient;
  const int32_t* taps;
  Number* to;
  std::span<const PoolMeeting> meetings;
  int64_t lanes;
  int64_t gradient_step, taps_step, to_step;
  bool side_by_side;

  /// V vectors of lanes, from lane i on.
  template <int64_t V>
  MTFC_INLINE void collect(const Collecting& s, int64_t i) {
    Numbers sums[V] = {};
    for (const PoolMeeting& m : s.meetings) {
      const Number* const values = s.gradient + i + m.offset[0];
      const int32_t* const taps = s.taps + i + m.offset[1];
#pragma GCC unroll 4
      for (int64_t v = 0; v < V; ++v) {
        const NarrowTaps narrow = loaded<NarrowTaps>(taps + v * kLanes);
        const Taps meets = __builtin_convertvector(narrow, Taps) == Taps{} + m.tap;
        sums[v] += meets ? loaded<Numbers>(values + v * kLanes) : Numbers{};
      }
    }
#pragma GCC unroll 4
    for (int64_t v = 0; v < V; ++v) store(sums[v], s.to + i + v * kLanes);
  }

  MTFC_INLINE void collect_one(const Collecting& s, int64_t i) {
    Number sum = 0;
    for (const PoolMeeting& m : s.meetings)
      if (s.taps[i * s.taps_step + m.offset[1]] == m.tap)
        sum += s.gradient[i * s.gradient_step + m.offset[0]];
    s.to[i * s.to_step] = sum;
  }

  MTFC_INLINE void run(const Collecting& s) {
    int64_t i = 0;
    if (s.side_by_side) {
      for (; i + 4 * kLanes <= s.lanes; i += 4 * kLanes) collect<4>(s, i);
      for (; i + kLanes <= s.lanes; i += kLanes) collect<1>(s, i);
    }
    for (; i < s.lanes; ++i) collect_one(s, i);
  }
};

template <typename T>
Kernel prepare(const KernelSite& site) {
  const PoolPlan plan(windows_of(site.attributes), PoolPlan::Direction::kBack, {&site.results[0]},
                      {&site.operands[0], &site.operands[1]});
  return [plan, flops = site.results[0].elements() * plan.taps()](const KernelRun& run) {
    using Number = WrappingType<T>;
    const auto* const gradient = reinterpret_cast<const Number*>(run.operands[0]);
    const auto* const taps = reinterpret_cast<const int32_t*>(run.operands[1]);
    auto* const to = reinterpret_cast<Number*>(run.results[0]);
    plan.run([&](const PoolRow& row) {
      run_widest(Collecting<T>{gradient + row.far[0], taps + row.far[1], to + row.near[0], row.meetings,
                               row.lanes, plan.far_steps[0], plan.far_steps[1], plan.near_steps[0],
                               plan.side_by_side});
    });
    return flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        prepare_typed(WideNumbers{}, []<typename T>(const KernelSite& site) { return prepare<T>(site); }),
};

}  // namespace mtfc::spread_pool_kernel
