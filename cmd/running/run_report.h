#pragma once
// The files about how a run went: the report of --report and the timeline of --trace, written after the last step.

#include <cstdint>
#include <string>

#include "cmd/running/run_times.h"
#include "core/cost/hardware.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/timeline.h"

namespace mtfc {

struct MeasuredRun {
  const EntryPoint& entry;
  const Timeline& timeline;    // of every step
  RunTime time;                // of this rank, the mean of all runs
  const std::string& command;  // as a shell reads it
};

/// Writes the counts of the last run beside the predicted ones, and the times that the runs took beside those that
/// `hardware`, if it is given, should take. Every rank must call it; rank 0 writes. Throws RunError if
/// the file can't be written.
void write_run_report(const std::string& path, Executor& executor, const MeasuredRun& run,
                      const Hardware* hardware);

/// Writes the timelines of all devices. `clock_offset` is this rank's (runtime/processes/clock_offset.h). Every rank
/// must call it; rank 0 writes. Throws RunError if the file can't be written.
void write_timelines(const std::string& path, Executor& executor, const Timeline& timeline,
                     int64_t clock_offset);

}  // namespace mtfc
