#pragma once
// An export of the variables that the ranks of a run hold.

#include "cmd/published/export.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// Rank 0 writes the export as `plan` says, and gathers one variable after another for it; `plan` is nullptr on the
/// others. Every rank must call it. Throws RunError, on all ranks alike.
void export_variables(Executor& executor, const Export* plan);

}  // namespace mtfc
