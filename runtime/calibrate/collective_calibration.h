#pragma once
// The part of calibration that measures collectives: every kind over every axis of the mesh, and over all
// axes.

#include <utility>
#include <vector>

#include "core/cost/hardware.h"
#include "runtime/calibrate/calibration.h"
#include "runtime/calibrate/stopwatch.h"

namespace mtfc {

/// Fills in the axes of `hardware`; appends how good the fits are.
void calibrate_collectives(const Mesh& mesh, Stopwatch& watch, NodeMemory& node,
                           const CalibrationOptions& options, Hardware& hardware,
                           std::vector<FitQuality>& fits);

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
