#pragma once
// The parts of calibration, each in the source file of its name.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/hardware.h"
#include "runtime/calibrate/calibration.h"
#include "runtime/calibrate/stopwatch.h"

namespace mtfc {

// -- kernels, on one device per rank (kernel_calibration.cpp) --

/// Fills in flops, bandwidths, overlap, step_overhead_s, efficiency and tables; appends how good the fits
/// are. `node`: the memory that the ranks share; nullptr if there is one rank.
void calibrate_kernels(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                       Hardware& hardware, std::vector<FitQuality>& fits);

/// The errors of `predicted` relative to `measured`.
FitQuality fit_quality(const std::string& what, const std::vector<double>& predicted,
                       const std::vector<double>& measured);

// -- how the rate of matrix products depends on all three sizes (product_calibration.cpp) --

/// calibrate_peaks fills in flops; calibrate_products fills in tables, once step_overhead_s is known, and
/// appends how good the fits are.
void calibrate_peaks(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                     Hardware& hardware);
void calibrate_products(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                        Hardware& hardware, std::vector<FitQuality>& fits);

/// The rates of this process's products with its present threads, in operations per second, as Hardware::flops has
/// them: those of one size, the best of those measured within some 50 ms for each of `dtypes`. calibrate_peaks takes
/// longer, and is closer to the peaks.
std::map<std::string, double> quick_peaks(const std::vector<DType>& dtypes);

// -- collectives: every kind over every axis of the mesh, and over all axes (collective_calibration.cpp) --

struct MeasuredLinks {
  std::map<std::string, Link> axes;  // as Hardware::axes
  std::vector<FitQuality> fits;
};
/// Every rank must call it.
MeasuredLinks calibrate_collectives(const Mesh& mesh, Stopwatch& watch, NodeMemory& node,
                                    const CalibrationOptions& options);

/// One measured collective.
struct LinkSample {
  double messages = 0;
  double bytes = 0;
  double seconds = 0;
};
/// Fits seconds = messages*alpha + bytes*beta with non-negative alpha and beta, by least squares of the
/// relative errors.
std::pair<double, double> fit_line(const std::vector<LinkSample>& samples);

}  // namespace mtfc
