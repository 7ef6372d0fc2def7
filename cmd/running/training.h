#pragma once
// A run after everything is compiled and opened: initial values, steps or an evaluation, results.
//
// All ranks execute it alike; one speaks. Between steps the ranks agree on whether to stop (Ctrl-C).

#include "cmd/running/run_data.h"
#include "cmd/running/run_options.h"
#include "cmd/running/run_times.h"
#include "core/cost/hardware.h"
#include "core/program/program.h"
#include "runtime/comm/comm.h"

namespace mtfc {

/// The clock and the profiles by which a run is judged. Only the rank that speaks needs the profiles; nullptr is none.
struct RunMeasures {
  const Hardware* hardware = nullptr;  // that times are predicted for
  const Hardware* peaks = nullptr;     // whose peak rates the MFU is of
  RunClock begin;                      // of the process
};

/// Runs `program` as `options` say. Throws UserError and RunError.
int run_program(const Program& program, const RunOptions& options, RunData data, Comm& comm,
                const RunMeasures& measures);

}  // namespace mtfc
