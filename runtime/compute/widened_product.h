#pragma once
// Matrix products of bf16 and i8 on processors that multiply f32 faster. Products of few rows convert each element as
// they read it. For others, blocks of both matrices, small enough for the caches, are converted to f32 in memory of the
// thread, and multiplied there.

#include <cstdint>

#include "core/tensors/bf16.h"
#include "runtime/compute/blas.h"

namespace mtfc {

/// Does what multiply() of blas.h does, with sums in f32, which are rounded once where T is Bf16. A product that adds
/// to bf16 adds its rounded sum. A, B, T: Bf16, Bf16 and float or Bf16; or float, with float as one operand and Bf16 or
/// int8_t as the other.
template <typename A, typename B, typename T>
void multiply_widened(const MatrixProduct& product, const A* a, const B* b, T* c);

}  // namespace mtfc
