#pragma once
// Puts measured rates of others into a hardware profile (core/cost/measured_rates.h).
//
//   kernels       a table of shares for their class, so that predicted times are the measured ones: step_overhead_s,
//                 and the longer of arithmetic and memory traffic
//   collectives   fixed_s, latency_s, bytes_per_s and members_share of the link, by kind: that of a node if the
//                 topology has nodes and the group fits into one, otherwise that of "*"
//
// Fits of nine tenths of the rows tell how well the others are predicted. The profile has a fit of all rows.

#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/cost/measured_rates.h"

namespace mtfc {

struct ImportQuality {
  std::string what;  // `einsum`, `all_reduce in a node`
  size_t rows = 0;
  size_t numbers = 0;     // that the profile has for them
  double mean_error = 0;  // of all rows, by the profile
  double held_error = 0;  // of all rows, each by a fit without it and a tenth of the others
};

/// Returns how good each part is. Throws UserError if there are too few rows to fit.
std::vector<ImportQuality> import_rates(const MeasuredRates& rates, Hardware& hardware);

}  // namespace mtfc
