#pragma once
// A run after everything is compiled and opened: initial values, steps, evaluation, results.
//
// All ranks execute it alike; one speaks. Between steps the ranks agree on whether to stop (Ctrl-C).

#include "cmd/run_data.h"
#include "cmd/run_options.h"
#include "core/program.h"
#include "runtime/comm.h"

namespace mtfc {

/// Runs `program` as `options` say. Throws UserError and RunError.
void run_program(const Program& program, const RunOptions& options, RunData data, Comm& comm);

}  // namespace mtfc
