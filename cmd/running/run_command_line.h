#pragma once
// The command lines of `mtfc run`, which `mtfc slurm` takes too, and of `mtfc predict`.

#include "cmd/options/command_line.h"
#include "cmd/running/run_options.h"

namespace mtfc {

/// Adds all options of `mtfc run`, with those that name the model and the layout.
void add_run_options(CommandLine& line, RunOptions& options);
/// Adds all options of `mtfc predict`, whose `options.prediction` exists.
void add_prediction_options(CommandLine& line, RunOptions& options);
/// Notes which of them have been given. Called once the command line is parsed.
void note_given(const CommandLine& line, RunOptions& options);

}  // namespace mtfc
