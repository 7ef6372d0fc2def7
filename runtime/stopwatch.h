#pragma once
// Times something on all ranks at once, for calibration.

#include <functional>
#include <string>

#include "runtime/processes.h"

namespace mtfc {

class Stopwatch {
 public:
  Stopwatch(Processes& processes, std::function<bool()> stops)
      : processes_(processes), stops_(std::move(stops)) {}

  /// Median seconds of a run of `work`, of the slowest rank each time. All ranks run it equally often,
  /// several times in a row where one is too short to be timed. Throws RunError where any rank is to stop.
  double seconds(const std::function<void()>& work);
  Processes& processes() { return processes_; }

 private:
  double sample(const std::function<void()>& work, int64_t repeats);

  Processes& processes_;
  std::function<bool()> stops_;
};

}  // namespace mtfc
