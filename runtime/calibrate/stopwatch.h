#pragma once
// Times work on all ranks at once, for calibration.

#include <functional>
#include <string>
#include <vector>

#include "runtime/processes/processes.h"

namespace mtfc {

class Stopwatch {
 public:
  /// `budget`: seconds for all samples of one measurement, unless the fewest samples that a median needs take
  /// longer.
  Stopwatch(Processes& processes, double budget) : processes_(processes), budget_(budget) {}

  /// Returns the median seconds of a run of `work`, counting the slowest rank each time. All ranks run it
  /// equally often, several times in a row if a single run is too short to be timed.
  double seconds(const std::function<void()>& work);
  /// Returns the least seconds of a run instead: how fast it is while no other process takes the cores.
  double least_seconds(const std::function<void()>& work);
  Processes& processes() { return processes_; }

 private:
  std::vector<double> samples(const std::function<void()>& work);
  double sample(const std::function<void()>& work, int64_t repeats);

  Processes& processes_;
  double budget_;
};

}  // namespace mtfc
