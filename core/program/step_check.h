#pragma once
// Whether one step is a legal use of its operation or collective for the shardings of its values: part of
// check_program.

#include <string>

#include "core/program/program.h"

namespace mtfc {

/// "" where it is, otherwise what is wrong. Values and buffers must be in range, a kWait be paired with its
/// kStart.
std::string step_problem(const EntryPoint& entry, const Step& step, const Mesh& mesh);

}  // namespace mtfc
