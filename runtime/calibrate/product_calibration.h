#pragma once
// The part of calibration that measures how the rate of matrix products depends on all three sizes.

#include <map>
#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "runtime/calibrate/calibration.h"
#include "runtime/calibrate/stopwatch.h"

namespace mtfc {

/// calibrate_peaks fills in flops; calibrate_products fills in products, once step_overhead_s is known, and
/// appends how good the fits are.
void calibrate_peaks(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                     Hardware& hardware);
void calibrate_products(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                        Hardware& hardware, std::vector<FitQuality>& fits);

/// The rates of this process's products with its present threads, in operations per second, as Hardware::flops has
/// them: those of one size, the best of those measured within some 50 ms for each of `dtypes`. calibrate_peaks takes
/// longer, and is closer to the peaks.
std::map<std::string, double> quick_peaks(const std::vector<DType>& dtypes);

}  // namespace mtfc
