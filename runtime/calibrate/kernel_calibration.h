#pragma once
// The part of calibration that measures kernels, on one device per rank.

#include <vector>

#include "core/cost/hardware.h"
#include "runtime/calibrate/calibration.h"
#include "runtime/calibrate/stopwatch.h"

namespace mtfc {

/// Fills in flops, bandwidths, overlap, step_overhead_s, efficiency and products; appends how good the fits
/// are. `node`: the memory that the ranks share; nullptr if there is one rank.
void calibrate_kernels(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                       Hardware& hardware, std::vector<FitQuality>& fits);

/// The errors of `predicted` relative to `measured`.
FitQuality fit_quality(const std::string& what, const std::vector<double>& predicted,
                       const std::vector<double>& measured);

}  // namespace mtfc
