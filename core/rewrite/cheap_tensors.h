#pragma once
// Forward tensors that element-wise operations make from others which the backward pass reads anyway. The backward pass
// computes them again inside its own fused steps, so that only what they are made from is kept.
//
//   t = tanh(x); y = x * t; z = einsum(y, w)      the backward pass reads x and t in element-wise operations, and y in
//                                                 a product: it keeps x and y, and computes t again

#include "core/graph/entry_graph.h"

namespace mtfc {

/// A tensor that a product of the backward pass reads is none of them, since it would be written to memory again.
/// `of_regions`: tensors that only regions make again (core/rewrite/recompute.h). Nothing outside of these is made from
/// them, or the backward pass of one layer would compute another layer again.
PerTensor<bool> cheap_tensors(const EntryGraph& entry, const PerTensor<bool>& of_regions);

}  // namespace mtfc
