#include "core/model/learning_rate.h"

#include <cmath>
#include <initializer_list>
#include <numbers>

namespace mtfc {
namespace {

// The formulas below are written once for both kinds of numbers: scalars of a graph, and numbers of C++.
struct GraphNumbers {
  using Number = TensorId;

  TensorId constant(double value) { return b.constant(value, DType::kF64); }
  TensorId op(std::string_view kind, std::initializer_list<TensorId> in) {
    return b.op(kind, std::vector<TensorId>(in));
  }

  GraphBuilder& b;
};

struct PlainNumbers {
  using Number = double;

  double constant(double value) { return value; }
  double op(std::string_view kind, std::initializer_list<double> in) {
    const double* of = in.begin();
    if (kind == "add") return of[0] + of[1];
    if (kind == "sub") return of[0] - of[1];
    if (kind == "mul") return of[0] * of[1];
    if (kind == "div") return of[0] / of[1];
    if (kind == "minimum") return std::fmin(of[0], of[1]);
    if (kind == "maximum") return std::fmax(of[0], of[1]);
    if (kind == "sqrt") return std::sqrt(of[0]);
    if (kind == "cos") return std::cos(of[0]);
    if (kind == "less") return of[0] < of[1] ? 1 : 0;
    if (kind == "where") return of[0] != 0 ? of[1] : of[2];
    throw InternalError("an unknown operation of a schedule");
  }
};

// The step, or the one from which the rate falls if that is later.
template <typename Numbers, typename Number = typename Numbers::Number>
Number falling_step(Numbers& n, const Schedule& schedule, Number step) {
  if (schedule.falls_from() == schedule.warmup) return step;  // the warm-up decides before that
  return n.op("maximum", {step, n.constant(schedule.hold)});
}

// Rises from 0 where the rate begins to fall to 1 at the last step, and stays there.
template <typename Numbers, typename Number = typename Numbers::Number>
Number progress(Numbers& n, const Schedule& schedule, Number step) {
  const Number since = n.op("sub", {falling_step(n, schedule, step), n.constant(schedule.falls_from())});
  const Number part = n.op("div", {since, n.constant(schedule.steps - schedule.falls_from())});
  return n.op("minimum", {part, n.constant(1)});
}

// The fraction of the way from `end` to `peak` that is left; for rsqrt, the fraction of the peak.
template <typename Numbers, typename Number = typename Numbers::Number>
Number remaining(Numbers& n, const Schedule& schedule, Number step) {
  switch (schedule.kind) {
    case ScheduleKind::kRsqrt:
      return n.op("sqrt",
                  {n.op("div", {n.constant(schedule.falls_from()), falling_step(n, schedule, step)})});
    case ScheduleKind::kCosine: {
      const Number angle = n.op("mul", {progress(n, schedule, step), n.constant(std::numbers::pi)});
      const Number half = n.op("mul", {n.op("cos", {angle}), n.constant(0.5)});
      return n.op("add", {half, n.constant(0.5)});
    }
    case ScheduleKind::kLinear:
      return n.op("sub", {n.constant(1), progress(n, schedule, step)});
  }
  throw InternalError("an unknown schedule");
}

template <typename Numbers, typename Number = typename Numbers::Number>
Number scheduled(Numbers& n, const Schedule& schedule, Number step) {
  const bool to_end = schedule.kind != ScheduleKind::kRsqrt;
  const double range = to_end ? schedule.peak - schedule.end : schedule.peak;
  Number rate = n.op("mul", {remaining(n, schedule, step), n.constant(range)});
  if (to_end) rate = n.op("add", {rate, n.constant(schedule.end)});
  if (schedule.warmup == 0) return rate;
  const Number rising = n.op("mul", {step, n.constant(schedule.peak / schedule.warmup)});
  return n.op("where", {n.op("less", {step, n.constant(schedule.warmup)}), rising, rate});
}

template <typename Numbers, typename Number = typename Numbers::Number>
Number rate_in(Numbers& n, const LearningRate& rate, Number step) {
  if (rate.schedules.empty()) return n.constant(rate.constant);
  Number product = scheduled(n, rate.schedules[0], step);
  for (size_t i = 1; i < rate.schedules.size(); ++i)
    product = n.op("mul", {product, scheduled(n, rate.schedules[i], step)});
  return rate.constant == 1 ? product : n.op("mul", {product, n.constant(rate.constant)});
}

}  // namespace

TensorId learning_rate(GraphBuilder& b, const LearningRate& rate, TensorId step) {
  GraphNumbers numbers{b};
  return rate_in(numbers, rate, step);
}

double LearningRate::at(double step) const {
  PlainNumbers numbers;
  return rate_in(numbers, *this, step);
}

}  // namespace mtfc
