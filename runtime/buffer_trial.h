#pragma once
// For tests: whether the buffers of an entry point serve its steps.

#include <string>

#include "core/program.h"

namespace mtfc {

/// Follows which value lies in which bytes of the arena, step by step. A collective may read its operand and
/// write its result and workspace at any time from its start to its wait. "" where every step finds its
/// operands whole and no two values are in each other's way; otherwise the first fault.
std::string buffer_fault(const Program& program, const EntryPoint& entry);

}  // namespace mtfc
