#pragma once
// Records when each step ran on the devices of this process: totals per step for reports, and the last runs
// of each entry point for timelines.
//
// The memory of an entry point is taken when it first runs and stays the same from then on: of N kept runs,
// run N + 1 takes the place of the first. The executor calls it (Executor::record); without one, nothing is
// measured.

#include <cstdint>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "core/program/timeline.h"
#include "runtime/processes/clock_offset.h"
#include "runtime/processes/processes.h"

namespace mtfc {

/// What the runs of one entry point took, in seconds per run, a figure per step of the program.
struct StepTimes {
  int64_t runs = 0;                  // that are counted: all but the first, where there are several
  std::vector<double> mean_seconds;  // over devices
  std::vector<double> max_seconds;   // of any process, mean over its devices
};

class Timeline {
 public:
  /// `kept`: runs of each entry point that timelines() gives; 0 where only totals are wanted.
  Timeline(const Program& program, size_t devices, int64_t kept);

  static int64_t now() { return nanoseconds_now(); }
  void begin_run(const EntryPoint& entry, int64_t train_step);
  void add(size_t device, size_t step, TimeSpan span);
  void end_run();

  /// Of all ranks; every rank must call it.
  StepTimes times(const EntryPoint& entry, Processes& processes) const;
  /// The kept runs of a device of this process. `work` of it is left empty.
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

/// The timelines of all devices of a run, by rank, on rank 0, with times on its clock; empty elsewhere.
/// `own`: of this process's devices. `offset`: what clock_offset() gave. Every rank must call it.
std::vector<DeviceTimeline> gather_timelines(std::vector<DeviceTimeline> own, int64_t offset,
                                             Processes& processes);

}  // namespace mtfc
