#pragma once
// A run after everything is compiled and opened: initial values, steps, evaluation, results.
//
// All ranks execute it alike; one speaks. Between steps the ranks agree on whether to stop (Ctrl-C).

#include <vector>

#include "cmd/run_options.h"
#include "core/data.h"
#include "core/model.h"
#include "core/program.h"
#include "runtime/comm.h"

namespace mtfc {

/// What a run reads, opened and checked before the first step.
struct RunData {
  std::vector<InputData> inputs;
  std::vector<InputData> valid;
  std::vector<std::pair<size_t, StoredArray>> loads;  // variable, its values
};

/// Runs `program` as `options` say. Throws UserError and RunError.
void run_program(const Program& program, const RunOptions& options, RunData data, Comm& comm);

}  // namespace mtfc
