#pragma once
// Times something on all ranks at once, for calibration.

#include <functional>
#include <string>

#include "runtime/processes/processes.h"

namespace mtfc {

class Stopwatch {
 public:
  /// `budget`: seconds for all samples of one thing, as far as the fewest that a median needs allow.
  Stopwatch(Processes& processes, std::function<bool()> stops, double budget)
      : processes_(processes), stops_(std::move(stops)), budget_(budget) {}

  /// Median seconds of a run of `work`, of the slowest rank each time. All ranks run it equally often,
  /// several times in a row where one is too short to be timed. Throws RunError where any rank is to stop.
  double seconds(const std::function<void()>& work);
  Processes& processes() { return processes_; }

 private:
  double sample(const std::function<void()>& work, int64_t repeats);

  Processes& processes_;
  std::function<bool()> stops_;
  double budget_;
};

}  // namespace mtfc
