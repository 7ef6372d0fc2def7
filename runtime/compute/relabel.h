#pragma once
// Kernels that move elements and compute nothing.

#include "runtime/compute/kernel.h"

namespace mtfc {

/// Copies the same elements in the same order; does nothing if the result is in the operand's place.
Kernel prepare_relabel(const KernelSite& site);
/// Copies the operand's elements in the order of the result's dimensions, repeated along those that it lacks.
Kernel prepare_spread(const KernelSite& site);
/// A result that is a view may be bf16 where the operand is f32.
Kernel prepare_spread(const LocalTensor& operand, const LocalTensor& result);

}  // namespace mtfc
