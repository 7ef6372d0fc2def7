#pragma once
// How messages name the steps of a program, and the ranks that are missing at one.

#include <cstdint>
#include <string>

#include "core/program/program.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {

/// `train, step 12: /ops/3 (gather 'h')`, without what is unknown. Steps count from 1, as in the metrics.
std::string step_text(const EntryPoint& entry, const Step& step, int64_t train_step);

/// `waited 600 s for rank 1, which is at train, step 12: /ops/3 (gather 'h')`. Of many ranks the first few
/// are told in full.
std::string missing_text(const Program& program, const WaitError& error);

}  // namespace mtfc
