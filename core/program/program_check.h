#pragma once
// Whether a program is one that a compiler could have made: for programs that come from a file.
//
// What passes is as safe to execute as what was just compiled: indices and shapes fit, every step is a legal
// use of its operation or collective for the shardings of its values, and buffers lie within the arena, are
// large enough and hold what steps read. Whether the program computes what its model says is not asked here.

#include <optional>
#include <string>

#include "core/program/program.h"

namespace mtfc {

struct ProgramFault {
  std::string pointer;  // of the part to blame, as in `/entry_points/0/steps/12`
  std::string message;
};

/// The first fault, or nothing.
std::optional<ProgramFault> find_program_fault(const Program& program);

}  // namespace mtfc
