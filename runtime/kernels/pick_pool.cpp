#include "core/op_rules/windows.h"
#include "runtime/compute/pooling.h"
#include "runtime/compute/prepare_typed.h"

namespace mtfc::pick_pool_kernel {
namespace {

/// The offset of the element that the tap meets, or -1.
int64_t offset_of(const PoolRow& row, int32_t tap) {
  const auto count = static_cast<int64_t>(row.meetings.size());
  // With all taps inside of the operand, meeting number `tap` is that of the tap.
  if (tap >= 0 && tap < count && row.meetings[static_cast<size_t>(tap)].tap == tap)
    return row.meetings[static_cast<size_t>(tap)].offset[0];
  const auto found = std::lower_bound(row.meetings.begin(), row.meetings.end(), tap,
                                      [](const PoolMeeting& m, int32_t sought) { return m.tap < sought; });
  return found != row.meetings.end() && found->tap == tap ? found->offset[0] : -1;
}

template <typename T>
Kernel prepare(const KernelSite& site) {
  const PoolPlan plan(windows_of(site.attributes), PoolPlan::Direction::kForward,
                      {&site.results[0], &site.operands[1]}, {&site.operands[0]});
  return [plan, flops = site.results[0].elements()](const KernelRun& run) {
    const auto* const x = reinterpret_cast<const T*>(run.operands[0]);
    const auto* const taps = reinterpret_cast<const int32_t*>(run.operands[1]);
    auto* const y = reinterpret_cast<T*>(run.results[0]);
    plan.run([&](const PoolRow& row) {
      for (int64_t i = 0; i < row.lanes; ++i) {
        const int64_t offset = offset_of(row, taps[row.near[1] + i * plan.near_steps[1]]);
        y[row.near[0] + i * plan.near_steps[0]] =
            offset < 0 ? T{0} : x[row.far[0] + offset + i * plan.far_steps[0]];
      }
    });
    return flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        prepare_typed(WideNumbers{}, []<typename T>(const KernelSite& site) { return prepare<T>(site); }),
};

}  // namespace mtfc::pick_pool_kernel
