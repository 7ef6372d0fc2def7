#include "runtime/blas.h"

#include <cblas.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "runtime/wrapping.h"

namespace mtfc {
namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kSmall = 512;                 // products of fewer multiplications cost less in plain loops
constexpr int64_t kLargest = int64_t{1} << 30;  // size of one call of OpenBLAS
constexpr int64_t kLargestLeading = std::numeric_limits<blasint>::max();

template <typename T>
void multiply_by_loops(const MatrixProduct& p, const T* a, const T* b, T* c) {
  const int64_t a_row = p.a_transposed ? 1 : p.a_leading, a_column = p.a_transposed ? p.a_leading : 1;
  const int64_t b_row = p.b_transposed ? 1 : p.b_leading, b_column = p.b_transposed ? p.b_leading : 1;
  for (int64_t i = 0; i < p.m; ++i) {
    T* row = c + i * p.c_leading;
    std::fill_n(row, p.n, T{0});
    for (int64_t l = 0; l < p.k; ++l) {
      const T factor = a[i * a_row + l * a_column];
      for (int64_t j = 0; j < p.n; ++j)
        row[j] = add_wrapping(row[j], mul_wrapping(factor, b[l * b_row + j * b_column]));
    }
  }
}

/// One row times one column: OpenBLAS would treat it as any other product.
template <typename T>
T dot(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t count) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  if (a_step == 1 && b_step == 1)
    for (; i + kLanes <= count; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
  for (; i < count; ++i) lanes[0] += static_cast<double>(a[i * a_step]) * static_cast<double>(b[i * b_step]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return static_cast<T>(sum);
}

struct Sizes {
  blasint m, n, k, lda, ldb, ldc;
};

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, const Sizes& s, const float* a, const float* b, float beta,
          float* c) {
  cblas_sgemm(CblasRowMajor, ta, tb, s.m, s.n, s.k, 1, a, s.lda, b, s.ldb, beta, c, s.ldc);
}

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, const Sizes& s, const double* a, const double* b,
          double beta, double* c) {
  cblas_dgemm(CblasRowMajor, ta, tb, s.m, s.n, s.k, 1, a, s.lda, b, s.ldb, beta, c, s.ldc);
}

blasint size_in_call(int64_t size, int64_t begin) {
  return static_cast<blasint>(std::min(kLargest, size - begin));
}

template <typename T>
void multiply_by_blas(const MatrixProduct& p, const T* a, const T* b, T* c) {
  const auto transposed = [](bool is) { return is ? CblasTrans : CblasNoTrans; };
  const auto at = [](bool is, int64_t leading, int64_t row, int64_t column) {
    return is ? column * leading + row : row * leading + column;
  };
  for (int64_t i = 0; i < p.m; i += kLargest)
    for (int64_t j = 0; j < p.n; j += kLargest)
      for (int64_t l = 0; l < p.k; l += kLargest) {
        const Sizes sizes = {size_in_call(p.m, i),
                             size_in_call(p.n, j),
                             size_in_call(p.k, l),
                             static_cast<blasint>(p.a_leading),
                             static_cast<blasint>(p.b_leading),
                             static_cast<blasint>(p.c_leading)};
        gemm(transposed(p.a_transposed), transposed(p.b_transposed), sizes,
             a + at(p.a_transposed, p.a_leading, i, l), b + at(p.b_transposed, p.b_leading, l, j),
             l == 0 ? T{0} : T{1}, c + i * p.c_leading + j);
      }
}

}  // namespace

template <typename T>
void multiply(const MatrixProduct& p, const T* a, const T* b, T* c) {
  if constexpr (std::is_floating_point_v<T>) {
    if (p.m == 1 && p.n == 1) {
      *c = dot(a, p.a_transposed ? p.a_leading : 1, b, p.b_transposed ? 1 : p.b_leading, p.k);
      return;
    }
    const bool fits = std::max({p.a_leading, p.b_leading, p.c_leading}) <= kLargestLeading;
    const bool small = p.m * p.n <= kSmall && p.m * p.n * p.k <= kSmall;
    if (fits && !small && p.k > 0) return multiply_by_blas(p, a, b, c);
  }
  multiply_by_loops(p, a, b, c);
}

template void multiply(const MatrixProduct&, const float*, const float*, float*);
template void multiply(const MatrixProduct&, const double*, const double*, double*);
template void multiply(const MatrixProduct&, const int32_t*, const int32_t*, int32_t*);
template void multiply(const MatrixProduct&, const int64_t*, const int64_t*, int64_t*);

}  // namespace mtfc
