#pragma once
// Convolutions of floats, forward ones as well as both gradients, which are convolutions too. See
// core/op_rules/conv_plan.h for the dimensions, convolution_loops.h for the loops, and convolution_tiles.h for the
// innermost ones.
//
// No patches are copied: tiles of the result read x in place. The filter is copied panel by panel where contracted
// elements lie side by side in x, as in forward convolutions with channels last; threads share the rows of the result.
// Where positions of the batch or the group do, as in gradients of filters, threads share blocks of the result, and
// parts of the sums if the result is small. Parts are fixed by the shapes and added in order.
//
// Padding is multiplied like zeros of x, where it lies beside elements of it. So an infinity in the filter makes NaNs
// of it.

#include "runtime/compute/kernel.h"

namespace mtfc {

/// The kernel of conv, on f32 or f64.
Kernel prepare_convolution(const KernelSite& site);

}  // namespace mtfc
