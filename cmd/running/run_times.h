#pragma once
// The times that the runs of an entry point take. The loop over steps and the evaluations measure them; the
// report shows their means.

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace mtfc {

/// Seconds since it was made.
class RunClock {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// One run, in seconds.
struct RunTime {
  double inputs = 0;  // to fill the inputs
  double total = 0;
};

/// The mean of many runs. If there are several the first is left out: it touches memory for the first time.
class MeanRunTime {
 public:
  void add(RunTime time) {
    if (++runs_ == 2) sum_ = {};
    shortest_ = runs_ == 1 ? time.total : std::min(shortest_, time.total);
    sum_.inputs += time.inputs;
    sum_.total += time.total;
  }
  RunTime mean() const {
    const auto counted = static_cast<double>(std::max<int64_t>(1, runs_ - 1));
    return {sum_.inputs / counted, sum_.total / counted};
  }
  /// The seconds of the shortest run; 0 without one.
  double shortest() const { return shortest_; }

 private:
  int64_t runs_ = 0;
  RunTime sum_;
  double shortest_ = 0;
};

}  // namespace mtfc
