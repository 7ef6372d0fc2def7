#pragma once
// Schedules: learning rates that change with the number of the step, computed in the graph.
//
// All rise in proportion to the step up to `peak` at step `warmup`, and stay there until step `hold`. After that,
// `rsqrt` falls as one over the square root of the step (Vaswani et al. 2017, section 5.3; without a warm-up, Raffel et
// al. 2020, section 3.1.2); `cosine` and `linear` reach `end` at step `steps` and stay there. Example: cosine with peak
// 1, warmup 2, steps 6, end 0 gives 0.5, 1, 0.85, 0.5, 0.15, 0, 0, ... A learning rate is a product of schedules and a
// number.

#include <compare>
#include <string_view>
#include <vector>

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
  double warmup = 0;  // steps
  double steps = 0;   // more than falls_from(); unused by rsqrt
  double end = 0;     // unused by rsqrt
  double hold = 0;    // the last step at the peak, if that is later than warmup
  /// The step after which the rate falls: at least 1 for rsqrt.
  double falls_from() const { return hold > warmup ? hold : warmup; }
  auto operator<=>(const Schedule&) const = default;
};

/// The product of a number and of schedules.
struct LearningRate {
  double constant = 1;
  std::vector<Schedule> schedules = {};

  /// The rate in step `step`, which counts from 1 and is at least that: the number that the graph computes.
  double at(double step) const;
  auto operator<=>(const LearningRate&) const = default;
};

/// The rate in step `step`, which counts from 1 and is not looked at if the rate is the same in all steps. Both are f64
/// scalars.
TensorId learning_rate(GraphBuilder& builder, const LearningRate& rate, TensorId step);

}  // namespace mtfc
