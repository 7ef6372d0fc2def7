#include "core/op_rules/windows.h"
#include "runtime/compute/pooling.h"
#include "runtime/compute/prepare_typed.h"
#include "runtime/compute/run_widest.h"

namespace mtfc::sum_pool_kernel {
namespace {

constexpr size_t kTerms = 32;  // elements of one sum; such sums are then added, which keeps long ones exact

/// The sum of each lane.
template <typename T>
struct Summing {
  using Number = WrappingType<T>;
  using Numbers = typename PoolVectors<Number>::Numbers;
  static constexpr int64_t kLanes = PoolVectors<Number>::kLanes;

  const Number* from;
  Number* to;
  std::span<const PoolMeeting> meetings;
  int64_t lanes;
  int64_t from_step, to_step;
  bool side_by_side;

  /// The sums of V values side by side: numbers or vectors of them.
  template <int64_t V, typename Value>
  MTFC_INLINE void add(const Summing& s, const Number* from, Number* to) {
    constexpr int64_t kStep = sizeof(Value) / sizeof(Number);
    Value totals[V] = {};
    for (size_t begin = 0; begin < s.meetings.size(); begin += kTerms) {
      Value sums[V] = {};
      for (const PoolMeeting& m : s.meetings.subspan(begin, std::min(kTerms, s.meetings.size() - begin))) {
#pragma GCC unroll 4
        for (int64_t v = 0; v < V; ++v) sums[v] += loaded<Value>(from + m.offset[0] + v * kStep);
      }
#pragma GCC unroll 4
      for (int64_t v = 0; v < V; ++v) totals[v] += sums[v];
    }
#pragma GCC unroll 4
    for (int64_t v = 0; v < V; ++v) store(totals[v], to + v * kStep);
  }

  template <int64_t V>
  MTFC_INLINE void sum(const Summing& s, int64_t i) {
    add<V, Numbers>(s, s.from + i, s.to + i);
  }
  MTFC_INLINE void sum_one(const Summing& s, int64_t i) {
    add<1, Number>(s, s.from + i * s.from_step, s.to + i * s.to_step);
  }

  MTFC_INLINE void run(const Summing& s) {
    int64_t i = 0;
    if (s.side_by_side) {
      for (; i + 4 * kLanes <= s.lanes; i += 4 * kLanes) sum<4>(s, i);
      for (; i + kLanes <= s.lanes; i += kLanes) sum<1>(s, i);
    }
    for (; i < s.lanes; ++i) sum_one(s, i);
  }
};

template <typename T>
Kernel prepare(const KernelSite& site) {
  const PoolPlan plan(windows_of(site.attributes), PoolPlan::Direction::kForward, {&site.results[0]},
                      {&site.operands[0]});
  return [plan, flops = site.results[0].elements() * plan.taps()](const KernelRun& run) {
    using Number = WrappingType<T>;
    const auto* const x = reinterpret_cast<const Number*>(run.operands[0]);
    auto* const y = reinterpret_cast<Number*>(run.results[0]);
    plan.run([&](const PoolRow& row) {
      run_widest(Summing<T>{x + row.far[0], y + row.near[0], row.meetings, row.lanes, plan.far_steps[0],
                            plan.near_steps[0], plan.side_by_side});
    });
    return flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        prepare_typed(WideNumbers{}, []<typename T>(const KernelSite& site) { return prepare<T>(site); }),
};

}  // namespace mtfc::sum_pool_kernel
