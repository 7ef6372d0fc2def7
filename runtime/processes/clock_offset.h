#pragma once
// The offset between the clocks of two ranks, so that one timeline can show both.

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/processes/processes.h"

namespace mtfc {

/// The monotonic clock that timelines are recorded with.
inline int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds to add to this process's nanoseconds_now() to get rank 0's, measured by exchanging messages; 0
/// if both read the same clock, as on one node. Every rank must call it.
int64_t clock_offset(Processes& processes);

/// One message to rank 0 and back: this rank's clock when it was sent and when the answer came, and rank 0's
/// clock in between.
struct ClockReading {
  int64_t sent = 0, there = 0, back = 0;
};
/// The offset according to the quickest reading; 0 if that reading is compatible with equal clocks.
int64_t offset_of(const std::vector<ClockReading>& readings);

}  // namespace mtfc
