#pragma once
// Memory that an entry point takes whatever its backward pass computes again.

#include <cstdint>

#include "core/model/model.h"
#include "core/program/program.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// The bytes that a device needs at the product of `entry` whose operands and results are largest, which have to be in
/// memory together.
int64_t least_memory(const Program& program, const EntryPoint& entry);

/// A lower bound on the bytes in use at `step`: results of products of the backward pass that are made by then, and
/// that products at this step or later read.
int64_t backward_memory(const EntryPoint& entry, size_t step);

/// The bytes of variables and caches, which are always there.
int64_t lasting_memory(const Program& program, const EntryPoint& entry);

/// The same of the model's variables and the optimizer's state, by arithmetic, before anything is compiled. Where the
/// compiler may choose how a variable is split, it counts as split over all devices. Throws UserError for a layout that
/// is not legal.
int64_t least_state_memory(const Model& model, const Layout& layout);

}  // namespace mtfc
