#pragma once
// The predicted time of a step by the parts of a model: its blocks, down to some depth of their scopes.
//
//   depth 2   layers_0/sparse/moe/y, layers_1/sparse/norm/y   ->   layers_*/sparse
//
// Parts that differ only in the number of a repeated block are one part, whose times are added up.

#include <cstdint>
#include <string>
#include <vector>

#include "core/cost/cost.h"

namespace mtfc {

struct PartTime {
  std::string part;                // "" for what belongs to no block
  std::vector<std::string> names;  // the repetitions that are added up: `layers_0/sparse`, `layers_1/sparse`
  double kernels_s = 0;            // regardless of overlap, like the next one
  double collectives_s = 0;
  double at_peak_s = 0;  // at the peak rates of what each step uses most: its roofline
  int64_t bytes_sent = 0;
};

/// The parts of a report that has times, the longest first. depth: at least 1.
std::vector<PartTime> part_times(const CostReport& report, size_t depth);

}  // namespace mtfc
