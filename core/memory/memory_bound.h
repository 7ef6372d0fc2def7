#pragma once
// A lower limit of the memory of an entry point, whatever the backward pass computes again.

#include <cstdint>

#include "core/program/program.h"

namespace mtfc {

/// The bytes that a device needs at the fullest step of `entry` if it keeps no result of the forward pass longer than the
/// forward pass reads it. `entry` is compiled without recomputation.
int64_t least_memory(const Program& program, const EntryPoint& entry);

/// The bytes of the results of the backward pass that are alive at `step`.
int64_t backward_memory(const EntryPoint& entry, size_t step);

/// The bytes of variables and caches, which are always there.
int64_t lasting_memory(const Program& program, const EntryPoint& entry);

}  // namespace mtfc
