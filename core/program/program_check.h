#pragma once
// Whether a program is one that a compiler could have made: for programs that come from a file.
//
// What passes is as safe to execute as what was just compiled: indices and shapes fit, every step is a legal
// use of its operation or collective for the shardings of its values, and buffers lie within the arena, are
// large enough and hold what steps read. Whether the program computes what its model says is not asked here.

#include <optional>

#include "core/program/program.h"
#include "core/program/structure_check.h"

namespace mtfc {

/// The first fault, or nothing.
std::optional<ProgramFault> find_program_fault(const Program& program);

/// The same of one entry point, which `program` need not hold yet.
std::optional<ProgramFault> find_entry_fault(const Program& program, const EntryPoint& entry);

}  // namespace mtfc
