#pragma once
// The data that a run reads, opened and checked before its first step.

#include <optional>
#include <string>
#include <vector>

#include "cmd/running/checkpoints.h"
#include "cmd/running/run_options.h"
#include "cmd/running/weights.h"
#include "core/program/program.h"
#include "core/tensors/data.h"

namespace mtfc {

struct RunData {
  std::vector<InputData> inputs;
  std::vector<InputData> valid;
  uint64_t seed = 0;
  VariableValues values;                 // variables without one here keep their initial values
  std::optional<CheckpointNotes> start;  // of the checkpoint that the run goes on from
};

/// Opens everything, and refuses a run that can't start. `checkpoint` is the one to go on from, or "". Throws
/// UserError and RunError.
RunData open_data(const Program& program, const RunOptions& options, const std::string& checkpoint);

/// The values that `loads` (as --load takes them) hold for variables, under the names that `maps` gives them. Throws
/// UserError if a variable then has neither such values nor initial ones.
VariableValues read_loads(const Program& program, const std::vector<std::string>& loads,
                          const std::vector<std::string>& maps);

/// The entry point that a run executes step after step and reports on: the training of a model that trains, unless
/// `evaluate`.
const EntryPoint& main_entry(const Program& program, bool evaluate);

}  // namespace mtfc
