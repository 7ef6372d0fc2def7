#pragma once
// Matrix products. This is the only user of OpenBLAS (openblas.h), whose sizes are 32-bit integers.

#include <cstdint>

namespace mtfc {

/// Loads OpenBLAS, which multiply() does as well; but within a parallel region nobody could catch the RunError that
/// says why it can't be loaded.
void load_blas();

/// c[m, n] = a[m, k] * b[k, n], row-major. A transposed matrix is stored columns first. A leading dimension
/// is the number of elements between stored rows. If k = 0, the product is zeros.
struct MatrixProduct {
  int64_t m = 1, n = 1, k = 1;
  bool a_transposed = false, b_transposed = false;
  int64_t a_leading = 1, b_leading = 1, c_leading = 1;
  bool adds = false;  // to c, in place of replacing it
};

/// T: float, double, int32_t, int64_t; integers wrap around. Uses OpenMP's threads, but only one inside a
/// parallel region.
template <typename T>
void multiply(const MatrixProduct& product, const T* a, const T* b, T* c);

}  // namespace mtfc
