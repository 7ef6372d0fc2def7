#pragma once
// Convolutions of floats, forward ones as well as both gradients, which are convolutions too. See
// core/op_rules/conv_plan.h for the dimensions, convolution_loops.h for the loops, and convolution_tiles.h for the
// innermost ones.
//
// No patches are copied: tiles of the result read x in place. The elements that lie side by side in x decide the rest:
//
//   contracted elements, as in forward convolutions with channels last: The filter is copied panel by panel, and
//     threads share the rows of the result.
//   positions of the batch or the group, as in gradients of filters: Threads share blocks of the result and, if it is
//     small, parts of its sums. Shapes fix the parts, which are added in order.
//
// Padding beside elements of x is multiplied as zeros, so an infinity in the filter makes NaN there.

#include "runtime/compute/kernel.h"

namespace mtfc {

/// The kernel of conv, on f32 or f64.
Kernel prepare_convolution(const KernelSite& site);

}  // namespace mtfc
