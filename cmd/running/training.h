#pragma once
// A run after everything is compiled and opened: initial values, steps or an evaluation, results.
//
// All ranks execute it alike; one speaks. Between steps the ranks agree on whether to stop (Ctrl-C).

#include "cmd/running/run_data.h"
#include "cmd/running/run_options.h"
#include "core/cost/hardware.h"
#include "core/program/program.h"
#include "runtime/comm/comm.h"

namespace mtfc {

/// Runs `program` as `options` say. Predicted times are of `hardware`, where there is one; the rank that
/// speaks needs it. Throws UserError and RunError.
int run_program(const Program& program, const RunOptions& options, RunData data, Comm& comm,
                const Hardware* hardware);

}  // namespace mtfc
