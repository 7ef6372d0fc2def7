#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/diagnostics/suggest.h"
#include "formats/expression/number_reader.h"
#include "formats/model/literal.h"
#include "formats/model/part_readers.h"

namespace mtfc {
namespace {

std::optional<ScheduleKind> read_schedule_kind(const Cursor& at) {
  const std::optional<std::string> name = at.string("the name of a schedule");
  if (!name) return std::nullopt;
  if (const std::optional<ScheduleKind> kind = value_named<ScheduleKind>(*name)) return kind;
  const std::vector<std::string> known = enum_names<ScheduleKind>();
  std::string hint = did_you_mean(*name, known);
  if (hint.empty()) hint = fmt::format("known are {}", fmt::join(known, ", "));
  at.error(fmt::format("unknown schedule '{}'", *name), hint);
  return std::nullopt;
}

// Reads a count of steps, at least `least`.
void read_steps(const std::optional<Cursor>& at, const NameLookup& lookup, double least, double& steps) {
  if (!at) return;
  const std::optional<int64_t> count = read_integer(*at, lookup);
  if (!count) return;
  steps = static_cast<double>(*count);
  if (steps < least) at->error(fmt::format("expected at least {:.0f}, found {}", least, *count));
}

void read_rate(const std::optional<Cursor>& at, const NameLookup& lookup, DType narrowest, double& rate) {
  const std::optional<double> value = at ? read_real(*at, lookup) : std::nullopt;
  if (!value) return;
  rate = *value;
  if (const auto problem = literal_problem(*value, narrowest)) at->error(problem->what(), problem->hint);
}

// The step after which a schedule falls must not come before the end of its warm-up.
void read_hold(const Cursor& at, const NameLookup& lookup, Schedule& schedule) {
  const std::optional<Cursor> hold = at.find("hold");
  const size_t errors = at.sink().error_count();
  read_steps(hold, lookup, 1, schedule.hold);
  if (hold && at.sink().error_count() == errors && schedule.hold < schedule.warmup)
    hold->error(fmt::format("the peak is held until step {:.0f}, but the warm-up lasts until step {:.0f}",
                            schedule.hold, schedule.warmup),
                "steps are counted from the start of training, including the warm-up");
}

std::optional<Schedule> read_schedule(const Cursor& at, const NameLookup& lookup, DType narrowest) {
  const size_t before = at.sink().error_count();
  const std::optional<Cursor> named = at.require("schedule");
  const std::optional<ScheduleKind> kind = named ? read_schedule_kind(*named) : std::nullopt;
  if (!kind) return std::nullopt;
  const bool is_rsqrt = *kind == ScheduleKind::kRsqrt;
  std::vector<std::string> keys = {"schedule", "peak", "warmup", "hold", "doc"};
  if (!is_rsqrt) keys.insert(keys.end(), {"steps", "end"});
  at.check_keys(keys);
  Schedule schedule;
  schedule.kind = *kind;
  read_rate(at.require("peak"), lookup, narrowest, schedule.peak);
  const bool needs_warmup = is_rsqrt && !at.find("hold");
  read_steps(needs_warmup ? at.require("warmup") : at.find("warmup"), lookup, needs_warmup ? 1 : 0,
             schedule.warmup);
  read_hold(at, lookup, schedule);
  if (!is_rsqrt) {
    const size_t errors = at.sink().error_count();
    const std::optional<Cursor> steps = at.require("steps");
    read_steps(steps, lookup, 1, schedule.steps);
    read_rate(at.find("end"), lookup, narrowest, schedule.end);
    if (steps && at.sink().error_count() == errors && schedule.steps <= schedule.falls_from())
      steps->error(fmt::format("the schedule ends in step {:.0f}, but {} until step {:.0f}", schedule.steps,
                               schedule.hold > schedule.warmup ? "the peak is held" : "its warm-up lasts",
                               schedule.falls_from()),
                   "steps are counted from the start of training, including the warm-up");
  }
  if (at.sink().error_count() > before) return std::nullopt;
  return schedule;
}

// Multiplies the rate by a number or a schedule.
void multiply_by(const Cursor& at, const NameLookup& lookup, DType narrowest, LearningRate& rate) {
  if (at.is(JsonKind::kObject)) {
    if (const auto schedule = read_schedule(at, lookup, narrowest)) rate.schedules.push_back(*schedule);
    return;
  }
  double factor = 1;
  read_rate(at, lookup, narrowest, factor);
  rate.constant *= factor;
}

}  // namespace

std::optional<LearningRate> read_learning_rate(const Cursor& at, const NameLookup& lookup, DType narrowest) {
  const size_t before = at.sink().error_count();
  LearningRate rate;
  if (const std::optional<Cursor> product = at.find("product")) {
    at.check_keys({"product", "doc"});
    for (const Cursor& factor : product->items("a list of numbers and schedules"))
      multiply_by(factor, lookup, narrowest, rate);
  } else {
    multiply_by(at, lookup, narrowest, rate);
  }
  if (at.sink().error_count() > before) return std::nullopt;
  return rate;
}

}  // namespace mtfc
