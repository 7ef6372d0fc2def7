#pragma once
// What lies between the clocks of two ranks, so that one timeline can show both.

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/processes/processes.h"

namespace mtfc {

/// The clock that timelines are recorded with, which never goes back.
inline int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds to add to this process's nanoseconds_now() for rank 0's. Found by messages to and fro; the same
/// clock, as on one node, gives 0. Every rank must call it.
int64_t clock_offset(Processes& processes);

/// One message to rank 0 and back: the times it was sent and came back here, and rank 0's in between.
struct ClockReading {
  int64_t sent = 0, there = 0, back = 0;
};
/// The offset that the quickest reading tells; 0 where it leaves open that the clocks are the same.
int64_t offset_of(const std::vector<ClockReading>& readings);

}  // namespace mtfc
