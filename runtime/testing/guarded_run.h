#pragma once
// For tests: a run in memory where no two buffers share a place, and guard bytes lie behind each of them, so that a
// kernel or a collective that writes beyond a buffer is found.

#include <string>

#include "core/program/program.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc {

/// Runs the evaluate entry point of `program`, which has no variables, on all devices in this process. Sets `fault` to
/// the buffer behind which something was written, or to "". Throws as run_in_lockstep() does.
WholeTensors run_guarded(const Program& program, const WholeTensors& inputs, std::string& fault);

}  // namespace mtfc
