#pragma once
// Checks of programs that come from a file: could a compiler have made this program?
//
// A program that passes is as safe to execute as one just compiled. Indices and shapes fit, every step is a
// legal use of its operation or collective for the shardings of its values, and buffers lie within the arena,
// are large enough and hold the values that steps read. The checks do not tell if the program computes what
// its model says.

#include <optional>

#include "core/program/program.h"
#include "core/program/structure_check.h"

namespace mtfc {

/// The first fault of the program, or nothing.
std::optional<ProgramFault> find_program_fault(const Program& program);

/// The first fault of one entry point, which `program` need not hold yet.
std::optional<ProgramFault> find_entry_fault(const Program& program, const EntryPoint& entry);

}  // namespace mtfc
