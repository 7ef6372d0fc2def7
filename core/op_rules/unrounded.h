#pragma once
// Sums of bf16 as they are before they are rounded. A gradient is a sum of many terms, each of which is rounded as an
// operation of bf16 gives it; adding up the terms in f32 loses less.
//
//   dw: bf16 = einsum(x, dy)                        ->    dw: f32 = einsum(x, dy) dtype=f32
//   s: f32 = add(a, b); dw: bf16 = cast(s)          ->    s
//   dw: bf16 = transpose(d)                         ->    cast(dw)

#include "core/graph/graph.h"

namespace mtfc {

/// The f32 value of a bf16 tensor: of a sum of products or of elements, of a sum of such sums and of a rounded sum the
/// value before it is rounded, and of any other tensor its own. Gives an f32 tensor as it is.
TensorId unrounded(GraphBuilder& builder, TensorId tensor);

}  // namespace mtfc
