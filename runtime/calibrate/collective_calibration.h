#pragma once
// The part of calibration that measures collectives: every kind over every axis of the mesh, and over all
// axes.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/hardware.h"
#include "runtime/calibrate/calibration.h"
#include "runtime/calibrate/stopwatch.h"

namespace mtfc {

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
