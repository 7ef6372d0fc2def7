#pragma once
// Products of a wide matrix with one of few rows: c[few, wide] = few[few, inner] * wide[inner, wide].
//
// They take as long as reading the wide matrix once, provided it is read in place; OpenBLAS copies it first. For one
// row, OpenBLAS does not copy, but reads a large matrix at half the rate.
//
// The order in which each element of the result is summed depends on the shape alone, so neither the division into
// ranges nor the number of threads changes it. The loops are compiled for AVX-512, AVX2 and the compiler's target, and
// one of them is chosen at run time.

#include <cstdint>

#include "core/tensors/bf16.h"
#include "runtime/compute/blas.h"

namespace mtfc {

/// The strides of each matrix in elements. The wide matrix is contiguous along one of its dimensions, and
/// `leading` is the stride along the other.
struct ThinProduct {
  int64_t few, wide, inner;
  bool inner_side_by_side;  // contiguous along inner; otherwise along wide
  int64_t leading;
  int64_t few_step, few_inner_step;
  int64_t result_few_step, result_wide_step;
};

/// The product as one of few rows with the right matrix, or, transposed, of few columns with the left one.
ThinProduct few_rows(const MatrixProduct& product);
ThinProduct few_columns(const MatrixProduct& product);

/// True if multiply_thin can compute the product, and does so faster than OpenBLAS, whose kernels for small
/// products read in place too.
bool is_thin(const ThinProduct& product);

/// Computes a product for which is_thin holds. T: float, double; W: T, or Bf16 or int8_t beside float, of which each
/// element is converted as it is read. Threads share the wide dimension.
template <typename T, typename W>
void multiply_thin(const ThinProduct& product, const T* few, const W* wide, T* result);

}  // namespace mtfc
