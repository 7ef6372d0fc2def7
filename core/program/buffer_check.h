#pragma once
// Whether the buffers of an entry point serve its steps: part of find_program_fault.

#include <optional>
#include <string>

#include "core/program/program.h"

namespace mtfc {

struct BufferFault {
  int step = -1;  // -1: at the start or the end
  std::string message;
};

/// Follows which value lies in which bytes of the arena, step by step. A collective may read its operands and
/// write its result and workspace at any time from its start to its wait. Nothing where every step finds its
/// operands whole and no two values are in each other's way; otherwise the first fault. Values, steps and
/// buffers must be in range.
std::optional<BufferFault> find_buffer_fault(const Mesh& mesh, const EntryPoint& entry);

}  // namespace mtfc
