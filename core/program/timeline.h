#pragma once
// When the steps of a program ran on one device, as measured. Made by runtime/execute/timeline.h, written by
// formats/report/trace_writer.h.
//
// Times are nanoseconds of rank 0's steady clock, on which all devices of a run are aligned. Of each run of
// an entry point there is one span per step of the program, in the same order; they don't overlap. A step in
// a loop has that of its last round; one that had no round has a span from before the run.

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

/// What a step does on one device.
struct StepWork {
  int64_t flops = 0;
  int64_t bytes = 0;  // of operands and results; for the start of a collective, what is sent
};

struct DeviceTimeline {
  std::vector<TimedRun> runs;  // in order of time
  std::vector<std::vector<StepWork>>
      work;  // by entry point and step; empty where an entry point has no run here
};

}  // namespace mtfc
