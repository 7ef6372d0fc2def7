#pragma once
// Matrix products of bf16 on processors that multiply f32 faster. Blocks of both matrices, small enough for the caches, are
// converted to f32 in memory of the thread, and multiplied there.

#include "core/tensors/bf16.h"
#include "runtime/compute/blas.h"

namespace mtfc {

/// Does what multiply() of blas.h does, with sums in f32, which are rounded once where T is Bf16. T: float, Bf16. A product
/// that adds to bf16 adds its rounded sum.
template <typename T>
void multiply_bf16(const MatrixProduct& product, const Bf16* a, const Bf16* b, T* c);

}  // namespace mtfc
