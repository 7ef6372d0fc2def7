#pragma once
// The data that a run reads, opened and checked before the first step.

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
  std::optional<double> filled;  // the share of the rows of texts in `inputs` that is no padding
  uint64_t seed = 0;
  VariableValues values;                 // all other variables have their initial values
  WeightGaps gaps;                       // of --load-partly
  std::vector<std::string> sets;         // NAME=VALUE: all settings that the model was compiled with
  std::optional<std::string> dtype;      // as --dtype takes it
  std::string checkpoint;                // the folder of the checkpoint that the run continues from, or ""
  std::optional<CheckpointNotes> start;  // its notes
};

/// Opens everything, and refuses runs that can't start. `checkpoint`: the one to continue from, or "". Throws
/// UserError and RunError.
RunData open_data(const Program& program, const RunOptions& options, const std::string& checkpoint);

/// Reads the variables' values from the files of `options`; `gaps` names what is missing, if something may be. Throws
/// UserError if a variable then has no values.
VariableValues read_loads(const Program& program, const WeightOptions& options, WeightGaps& gaps);

/// The entry point that a run executes step after step and reports on: training if the model trains, unless
/// `evaluate` is set.
const EntryPoint& main_entry(const Program& program, bool evaluate);

}  // namespace mtfc
