#pragma once
// Schedules: learning rates that change with the number of the step, computed in the graph.
//
// All rise in proportion to the step up to `peak` at step `warmup`. After that, `rsqrt` falls as one over the
// square root of the step (Vaswani et al. 2017, section 5.3); `cosine` and `linear` reach `end` at step
// `steps` and stay there. Example: cosine with peak 1, warmup 2, steps 6, end 0 gives 0.5, 1, 0.85, 0.5,
// 0.15, 0, 0, ...

#include <optional>
#include <string_view>

#include "core/diagnostics/enum_names.h"
#include "core/graph/graph.h"

namespace mtfc {

enum class ScheduleKind { kRsqrt, kCosine, kLinear };
template <>
inline constexpr auto kEnumNames<ScheduleKind> = std::to_array<EnumName<ScheduleKind>>(
    {{ScheduleKind::kRsqrt, "rsqrt"}, {ScheduleKind::kCosine, "cosine"}, {ScheduleKind::kLinear, "linear"}});

struct Schedule {
  ScheduleKind kind = ScheduleKind::kRsqrt;
  double peak = 0;
  double warmup = 0;  // steps; at least 1 for rsqrt
  double steps = 0;   // more than warmup; unused by rsqrt
  double end = 0;     // unused by rsqrt
};

/// The rate in step `step`, which counts from 1. Both are f64 scalars.
TensorId learning_rate(GraphBuilder& builder, const Schedule& schedule, TensorId step);

/// The learning rate of a training, for those who want to know it: a schedule, or the same number in every step.
struct LearningRate {
  std::optional<Schedule> schedule;
  double constant = 0;  // without a schedule

  /// The rate in step `step`, which counts from 1 and is at least that: the number that the graph computes.
  double at(double step) const;
};

}  // namespace mtfc
