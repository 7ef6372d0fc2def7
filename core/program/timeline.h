#pragma once
// Measured times of a program's steps on one device. runtime/execute/timeline.h makes them,
// formats/report/trace_writer.h writes them.
//
// Times are nanoseconds of rank 0's steady clock, to which all devices of a run are aligned. Each run of an
// entry point has one span per step of the program, in the same order; spans don't overlap. A step in a loop
// has the span of its last round. A step that had no round has a span from before the run.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mtfc {

struct TimeSpan {
  int64_t begin = 0, end = 0;
};

/// One run of an entry point on one device.
struct TimedRun {
  size_t entry = 0;        // its position in the program
  int64_t train_step = 0;  // from 0
  TimeSpan span;
  std::vector<TimeSpan> steps;
};

/// The work of a step on one device.
struct StepWork {
  int64_t flops = 0;
  int64_t bytes = 0;  // operands and results; for the start of a collective, the bytes sent
};

struct DeviceTimeline {
  std::vector<TimedRun> runs;  // in order of time
  std::vector<std::vector<StepWork>>
      work;  // by entry point and step; empty if an entry point has no run here
};

}  // namespace mtfc
