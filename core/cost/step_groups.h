#pragma once
// Steps of repeated blocks as groups, so that a report has one row for those of all layers.

#include <vector>

#include "core/cost/cost.h"

namespace mtfc {

/// Steps that differ only in the number of a repetition, in the order of the program.
struct StepGroup {
  StepCost sum;                          // the first of them, with the counts and times of all
  std::vector<const StepCost*> members;  // elements of the report's list
  int64_t most_alive = 0;                // bytes on a device during one of them
};

/// The groups in the order of costliest_steps() (core/cost/comparison.h).
std::vector<StepGroup> costliest_groups(const CostReport& report);

/// The folded() name of the members, with and_others().
std::string folded_name(const StepGroup& group);

/// ` and 3 more` for a collective that moves three tensors with the one of its name; "" for other steps.
std::string and_others(const StepCost& step);

}  // namespace mtfc
