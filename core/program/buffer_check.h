#pragma once
// The part of check_program that tells whether an entry point's buffers serve its steps.

#include <optional>
#include <string>

#include "core/program/program.h"

namespace mtfc {

struct BufferFault {
  int step = -1;  // -1: at the start or the end
  std::string message;
};

/// Follows which value lies in which bytes of the arena, step by step. A collective may read its operands and
/// write its result and workspace at any time from its start to its wait. Returns nothing if every step finds
/// its operands intact and no two values overlap while both are alive, otherwise the first fault. Values,
/// steps and buffers must be in range.
std::optional<BufferFault> find_buffer_fault(const Mesh& mesh, const EntryPoint& entry);

}  // namespace mtfc
