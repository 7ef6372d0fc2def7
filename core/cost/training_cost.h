#pragma once
// Predicts the steps, the time and the money that training on many tokens takes, from the predicted time of a step.

#include <cstdint>
#include <optional>

#include "core/program/program.h"

namespace mtfc {

struct CostReport;

/// The training that the user plans.
struct TrainingPlan {
  std::optional<double> tokens;          // to train on, in all
  std::optional<double> price_per_hour;  // of one device, in any currency
};

struct TrainingCost {
  int64_t tokens_per_step = 0;
  double tokens_per_second = 0;  // by all devices together
  // If the plan says how many tokens there are:
  std::optional<double> tokens = {};
  double steps = 0;  // a whole number; the last step may have fewer tokens to train on
  double seconds = 0;
  double device_hours = 0;
  std::optional<double> price = {};  // if the plan has a price, too
};

/// The elements of the largest input of whole numbers: the token of each place of each sequence, or the label of each
/// sample. Without such an input, the rows of the first input; 0 if it has none.
int64_t tokens_per_step(const Program& program);

/// Nothing if the report is not of a training step, or has no time, or a step has no tokens.
std::optional<TrainingCost> training_cost(const Program& program, const CostReport& report,
                                          const TrainingPlan& plan);

}  // namespace mtfc
