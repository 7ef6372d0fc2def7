#pragma once
// The part of calibration that measures how the rate of matrix products depends on all three sizes.

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

}  // namespace mtfc
