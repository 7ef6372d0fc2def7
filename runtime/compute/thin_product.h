#pragma once
// Products of a wide matrix and one of few rows: c[few, wide] = few[few, inner] * wide[inner, wide].
//
// They take as long as reading the wide matrix once, if it is read in place; OpenBLAS copies it first. Each
// element of the result is added up in an order that depends on `inner` alone, so neither the cut into ranges
// nor the number of threads changes it. Loops are compiled for AVX-512, AVX2 and the compiler's target, and
// chosen at run time.

#include <cstdint>

namespace mtfc {

/// Elements between neighbours in each matrix. Of the wide one, neighbours along one of its dimensions lie
/// side by side, and `leading` is the distance along the other.
struct ThinProduct {
  int64_t few, wide, inner;
  bool inner_side_by_side;  // in the wide matrix; otherwise its wide dimension is
  int64_t leading;
  int64_t few_step, few_inner_step;
  int64_t result_few_step, result_wide_step;
};

/// Whether multiply_thin can compute the product, and faster than OpenBLAS, whose kernels for small products
/// read in place too.
bool is_thin(const ThinProduct& product);

/// For thin products. T: float, double. Threads share the wide dimension.
template <typename T>
void multiply_thin(const ThinProduct& product, const T* few, const T* wide, T* result);

}  // namespace mtfc
