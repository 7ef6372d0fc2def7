#include "core/cost/training_cost.h"

#include <algorithm>
#include <cmath>

#include "core/cost/cost.h"

namespace mtfc {

int64_t tokens_per_step(const Program& program) {
  int64_t tokens = 0;
  for (const InputDecl& input : program.inputs)
    if (is_integer(input.type.dtype) && !input.type.dims.empty())
      tokens = std::max(tokens, elements(input.type.dims));
  for (const InputDecl& input : program.inputs)
    if (tokens == 0 && !input.type.dims.empty()) tokens = input.type.dims.front().size;
  return tokens;
}

std::optional<TrainingCost> training_cost(const Program& program, const CostReport& report,
                                          const TrainingPlan& plan) {
  const int64_t tokens = tokens_per_step(program);
  if (report.entry != "train" || !report.time || report.time->step_s <= 0 || tokens == 0) return std::nullopt;
  constexpr double kHour = 3600;
  TrainingCost cost;
  cost.tokens_per_step = tokens;
  cost.tokens_per_second = static_cast<double>(tokens) / report.time->step_s;
  if (!plan.tokens) return cost;
  cost.tokens = plan.tokens;
  cost.steps = std::ceil(*plan.tokens / static_cast<double>(tokens));
  cost.seconds = cost.steps * report.time->step_s;
  cost.device_hours = cost.seconds / kHour * static_cast<double>(program.mesh().devices());
  if (plan.price_per_hour) cost.price = cost.device_hours * *plan.price_per_hour;
  return cost;
}

}  // namespace mtfc
