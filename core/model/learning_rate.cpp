#include "core/model/learning_rate.h"

#include <numbers>

namespace mtfc {
namespace {

TensorId number(GraphBuilder& b, double value) {
  return b.constant(value, DType::kF64);
}

// Rises from 0 at the end of the warm-up to 1 at the last step, and stays there.
TensorId progress(GraphBuilder& b, const Schedule& schedule, TensorId step) {
  const TensorId since = b.op("sub", {step, number(b, schedule.warmup)});
  const TensorId part = b.op("div", {since, number(b, schedule.steps - schedule.warmup)});
  return b.op("minimum", {part, number(b, 1)});
}

// The fraction of the way from `end` to `peak` that is left; for rsqrt, the fraction of the peak.
TensorId remaining(GraphBuilder& b, const Schedule& schedule, TensorId step) {
  switch (schedule.kind) {
    case ScheduleKind::kRsqrt:
      return b.op("sqrt", {b.op("div", {number(b, schedule.warmup), step})});
    case ScheduleKind::kCosine: {
      const TensorId angle = b.op("mul", {progress(b, schedule, step), number(b, std::numbers::pi)});
      const TensorId half = b.op("mul", {b.op("cos", {angle}), number(b, 0.5)});
      return b.op("add", {half, number(b, 0.5)});
    }
    case ScheduleKind::kLinear:
      return b.op("sub", {number(b, 1), progress(b, schedule, step)});
  }
  throw InternalError("an unknown schedule");
}

}  // namespace

TensorId learning_rate(GraphBuilder& b, const Schedule& schedule, TensorId step) {
  const bool to_end = schedule.kind != ScheduleKind::kRsqrt;
  const double range = to_end ? schedule.peak - schedule.end : schedule.peak;
  TensorId rate = b.op("mul", {remaining(b, schedule, step), number(b, range)});
  if (to_end) rate = b.op("add", {rate, number(b, schedule.end)});
  if (schedule.warmup == 0) return rate;
  const TensorId rising = b.op("mul", {step, number(b, schedule.peak / schedule.warmup)});
  return b.op("where", {b.op("less", {step, number(b, schedule.warmup)}), rising, rate});
}

}  // namespace mtfc
