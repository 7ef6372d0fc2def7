#pragma once
// Kernels that move elements and compute nothing.

#include "runtime/compute/kernel.h"

namespace mtfc {

/// The same elements in the same order; nothing at all where the result is in the operand's place.
Kernel prepare_relabel(const KernelSite& site);
/// The operand's elements in the order of the result's dimensions, repeated along those that it lacks.
Kernel prepare_spread(const KernelSite& site);
Kernel prepare_spread(const LocalTensor& operand, const LocalTensor& result);

}  // namespace mtfc
