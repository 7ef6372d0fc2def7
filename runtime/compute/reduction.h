#pragma once
// Reductions of a dense local tensor to some of its dimensions, in any order.
//
// Sums and products of floats are computed in f64, those of integers wrap around; a NaN anywhere gives NaN;
// nothing reduced gives the identity (0, 1, or the lowest or highest value). How the work is cut depends on
// shapes alone, never on the number of threads, so results are the same for any.

#include "runtime/compute/kernel.h"

namespace mtfc {

/// Counts one flop per element of the operand.
Kernel prepare_reduction(const KernelSite& site, Reduction reduction);
/// The same for a part of a kernel. `result` has some of the dimensions of `operand`, both are of one dtype.
Kernel prepare_reduction(const LocalTensor& operand, const LocalTensor& result, Reduction reduction);

}  // namespace mtfc
