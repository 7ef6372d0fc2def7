#pragma once
// Memory that an entry point takes whatever its backward pass computes again.

#include <cstdint>

#include "core/program/program.h"

namespace mtfc {

/// The bytes that a device needs at the product of `entry` whose operands and results are largest, which have to be in
/// memory together.
int64_t least_memory(const Program& program, const EntryPoint& entry);

/// The bytes that are surely in use at `step`: results of products of the backward pass up to it that products from it on
/// read.
int64_t backward_memory(const EntryPoint& entry, size_t step);

/// The bytes of variables and caches, which are always there.
int64_t lasting_memory(const Program& program, const EntryPoint& entry);

}  // namespace mtfc
