#pragma once
// For tests: whether the planned workspace of every collective holds what any device has to pack.

#include <string>

#include "core/program/program.h"

namespace mtfc {

/// "" where it does, otherwise the first step for which it does not.
std::string workspace_fault(const Program& program, const EntryPoint& entry);

}  // namespace mtfc
