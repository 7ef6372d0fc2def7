#pragma once
// Reductions of a dense local tensor to some of its dimensions, in any order.
//
// Sums and products of floats are computed in f64, those of integers wrap around; a NaN anywhere gives NaN;
// reducing no elements gives the identity (0, 1, or the lowest or highest value). The division of work
// depends on shapes alone, so results are the same for any number of threads.

#include "runtime/compute/kernel.h"

namespace mtfc {

/// Counts one flop per element of the operand.
Kernel prepare_reduction(const KernelSite& site, Reduction reduction);
/// The same for a part of a kernel. `result` has some of the dimensions of `operand`, and both have one
/// dtype.
Kernel prepare_reduction(const LocalTensor& operand, const LocalTensor& result, Reduction reduction);
/// Sums of bf16 that are left in f32.
Kernel prepare_wide_sum(const LocalTensor& operand, const LocalTensor& result);

}  // namespace mtfc
