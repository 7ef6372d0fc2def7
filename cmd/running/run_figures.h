#pragma once
// The figures of a run beside what it computes: how much work a step is, how fast steps are, and the learning rate.

#include <cstdint>
#include <optional>

#include "cmd/running/run_times.h"
#include "cmd/terminal/progress.h"
#include "core/cost/hardware.h"
#include "core/program/program.h"
#include "formats/report/metrics_writer.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// The work of one step, by all devices together.
struct StepWorkload {
  int64_t rows = 0;    // of data
  int64_t tokens = 0;  // core/cost/training_cost.h; 0: none
  PeakTime peak = {};
};

/// The peak rates of a device on this machine, which it measures; `devices`: how many this process computes for. A
/// profile with nothing else in it.
Hardware measured_peaks(const EntryPoint& entry, int64_t devices);

/// The higher one of the rates of each dtype, since other work can only slow a measurement down.
Hardware higher_peaks(const Hardware& a, const Hardware& b);

/// Without `hardware`, peak rates are not known. Its rates are those of one rank.
StepWorkload workload_of(const Program& program, const EntryPoint& entry, int64_t rows,
                         const Hardware* hardware);

/// The learning rate of the training step that `executor` has run last; nothing if the model has no optimizer.
std::optional<double> learning_rate_of_last_step(const Executor& executor, const EntryPoint& entry);

/// The figures of a step that took `seconds`. `begin` is the start of the process.
StepFigures figures_of(const StepWorkload& work, double seconds, std::optional<double> learning_rate,
                       const RunClock& begin);

}  // namespace mtfc
