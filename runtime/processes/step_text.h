#pragma once
// Words for messages about the steps of a program, and about the ranks that did not reach one.

#include <cstdint>
#include <string>

#include "core/program/program.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {

/// `train, step 12: /ops/3 (gather 'h')`, without the parts that are unknown. Steps count from 1, as in the
/// metrics.
std::string step_text(const EntryPoint& entry, const Step& step, int64_t train_step);

/// `waited 600 s for rank 1, which is at train, step 12: /ops/3 (gather 'h')`. If many ranks are missing,
/// only the first few are described in full.
std::string missing_text(const Program& program, const WaitError& error);

}  // namespace mtfc
