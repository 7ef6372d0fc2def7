#pragma once
// Records when each step ran on the devices of this process: totals per step for reports, and the latest runs
// of each entry point for timelines.
//
// The memory for an entry point is allocated when it first runs and does not grow: if N runs are kept, run N
// + 1 replaces the first. The executor fills it in (Executor::record); without a Timeline, nothing is
// measured.

#include <cstdint>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "core/program/timeline.h"
#include "runtime/processes/clock_offset.h"
#include "runtime/processes/processes.h"

namespace mtfc {

/// The times of one entry point in seconds per run, with one number per step of the program.
struct StepTimes {
  int64_t runs = 0;                  // counted runs: all but the first, unless there is only one
  std::vector<double> mean_seconds;  // mean over devices
  std::vector<double> max_seconds;   // the largest of any process; each is the mean over its devices
};

class Timeline {
 public:
  /// `kept`: the number of runs per entry point that device_timeline() returns; 0 to record totals only.
  Timeline(const Program& program, size_t devices, int64_t kept);

  static int64_t now() { return nanoseconds_now(); }
  void begin_run(const EntryPoint& entry, int64_t train_step);
  void add(size_t device, size_t step, TimeSpan span);
  void end_run();

  /// Combines all ranks; every rank must call it.
  StepTimes times(const EntryPoint& entry, Processes& processes) const;
  /// The kept runs of a device of this process; its `work` is left empty.
  DeviceTimeline device_timeline(size_t device) const;

 private:
  struct Kept {
    int64_t train_step = 0;
    TimeSpan span;
    std::vector<TimeSpan> steps;  // by device, then by step
  };
  struct Recorded {
    int64_t runs = 0;
    std::vector<int64_t> first,
        total;  // nanoseconds per step, summed over devices; total without the first run
    std::vector<Kept> ring;
  };
  size_t position(const EntryPoint& entry) const;

  const Program& program_;
  size_t devices_;
  int64_t kept_;
  std::vector<Recorded> recorded_;  // by entry point
  Recorded* running_ = nullptr;
  std::vector<int64_t>* sums_ = nullptr;
  Kept* slot_ = nullptr;
  size_t steps_ = 0;
};

/// Returns the timelines of all devices of a run, by rank, on rank 0, in terms of its clock; an empty vector
/// elsewhere. `own` holds those of this process's devices, `offset` is the result of clock_offset(). Every
/// rank must call it.
std::vector<DeviceTimeline> gather_timelines(std::vector<DeviceTimeline> own, int64_t offset,
                                             Processes& processes);

}  // namespace mtfc
