#pragma once
// The values that a run leaves behind: single numbers for people and metrics, whole tensors for --output.

#include <string>
#include <vector>

#include "cmd/terminal/progress.h"
#include "core/program/program.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// The outputs of `entry` that are single numbers, as its last run left them. They are the same on every rank.
std::vector<NamedNumber> output_numbers(const Executor& executor, const EntryPoint& entry);

/// Writes tensors to files: variables, and outputs of the last run of `entry`. `outputs` has NAME=FILE.npy each, as
/// --output takes them. Every rank must call it. Throws RunError if a file can't be written.
void write_outputs(Executor& executor, const EntryPoint& entry, const std::vector<std::string>& outputs);

/// For a run that takes no step, which has the values of variables and nothing else: throws RunError if `outputs`
/// names another tensor.
void require_variables(const Program& program, const std::vector<std::string>& outputs);

}  // namespace mtfc
