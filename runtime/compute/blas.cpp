#include "runtime/compute/blas.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "runtime/compute/openblas.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/thin_product.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {
namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kPieces = 16;                 // pieces of a long row times a long column
constexpr int64_t kLongRow = 65536;             // elements from which a row counts as long
constexpr int64_t kSmall = 32;                  // products of fewer multiplications cost less in plain loops
constexpr int64_t kLargest = int64_t{1} << 30;  // size of one call of OpenBLAS
constexpr int64_t kSharedWork = 1 << 20;        // multiplications from which our threads share a product
constexpr int64_t kLeastRows = 256;             // rows of the result per thread
constexpr int64_t kOwnCopy = 4 << 20;           // bytes of the right matrix up to which each thread makes its
                                                // own copy
constexpr int64_t kRowUnit = 16;                // a multiple of the rows that OpenBLAS computes at a time
constexpr int64_t kLargestLeading = std::numeric_limits<blasint>::max();

template <typename T>
void multiply_by_loops(const MatrixProduct& p, const T* a, const T* b, T* c) {
  const int64_t a_row = p.a_transposed ? 1 : p.a_leading, a_column = p.a_transposed ? p.a_leading : 1;
  const int64_t b_row = p.b_transposed ? 1 : p.b_leading, b_column = p.b_transposed ? p.b_leading : 1;
  for (int64_t i = 0; i < p.m; ++i) {
    T* row = c + i * p.c_leading;
    if (!p.adds) std::fill_n(row, p.n, T{0});
    for (int64_t l = 0; l < p.k; ++l) {
      const T factor = a[i * a_row + l * a_column];
      for (int64_t j = 0; j < p.n; ++j)
        row[j] = add_wrapping(row[j], mul_wrapping(factor, b[l * b_row + j * b_column]));
    }
  }
}

/// A row times a column, in f64.
template <typename T>
double dot(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t count) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  if (a_step == 1 && b_step == 1)
    for (; i + kLanes <= count; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
  for (; i < count; ++i) lanes[0] += static_cast<double>(a[i * a_step]) * static_cast<double>(b[i * b_step]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// One row times one column, which OpenBLAS would treat like any other product. A long one is cut into pieces
/// by its length alone, so that the sum does not depend on the number of threads.
template <typename T>
T multiply_row_by_column(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t count) {
  if (count < kLongRow) return static_cast<T>(dot(a, a_step, b, b_step, count));
  double pieces[kPieces];
  const int64_t length = count / kPieces;
  parallel_ranges(kPieces, count, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * length, last = piece + 1 == kPieces ? count : first + length;
      pieces[piece] = dot(a + first * a_step, a_step, b + first * b_step, b_step, last - first);
    }
  });
  double sum = 0;
  for (const double piece : pieces) sum += piece;
  return static_cast<T>(sum);
}

/// The matrices of one call of OpenBLAS.
struct CallShape {
  CBLAS_TRANSPOSE ta, tb;
  blasint m, n, k, lda, ldb, ldc;
};

void gemm(const CallShape& s, const float* a, const float* b, float beta, float* c) {
  openblas().sgemm(CblasRowMajor, s.ta, s.tb, s.m, s.n, s.k, 1, a, s.lda, b, s.ldb, beta, c, s.ldc);
}

void gemm(const CallShape& s, const double* a, const double* b, double beta, double* c) {
  openblas().dgemm(CblasRowMajor, s.ta, s.tb, s.m, s.n, s.k, 1, a, s.lda, b, s.ldb, beta, c, s.ldc);
}

/// The product of a matrix of `rows` x `inner` and a vector; `transposed` as in MatrixProduct.
struct VectorProduct {
  int64_t rows, inner;
  bool transposed;
  int64_t leading, x_step, y_step;
  bool adds;
};

/// Adds the product to y. Its sizes are small enough for one call of OpenBLAS.
void gemv(const VectorProduct& p, const float* a, const float* x, float* y) {
  const auto rows = static_cast<blasint>(p.rows), inner = static_cast<blasint>(p.inner);
  openblas().sgemv(CblasRowMajor, p.transposed ? CblasTrans : CblasNoTrans, p.transposed ? inner : rows,
                   p.transposed ? rows : inner, 1, a, static_cast<blasint>(p.leading), x,
                   static_cast<blasint>(p.x_step), 1, y, static_cast<blasint>(p.y_step));
}

void gemv(const VectorProduct& p, const double* a, const double* x, double* y) {
  const auto rows = static_cast<blasint>(p.rows), inner = static_cast<blasint>(p.inner);
  openblas().dgemv(CblasRowMajor, p.transposed ? CblasTrans : CblasNoTrans, p.transposed ? inner : rows,
                   p.transposed ? rows : inner, 1, a, static_cast<blasint>(p.leading), x,
                   static_cast<blasint>(p.x_step), 1, y, static_cast<blasint>(p.y_step));
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
        const CallShape shape = {transposed(p.a_transposed),
                                 transposed(p.b_transposed),
                                 size_in_call(p.m, i),
                                 size_in_call(p.n, j),
                                 size_in_call(p.k, l),
                                 static_cast<blasint>(p.a_leading),
                                 static_cast<blasint>(p.b_leading),
                                 static_cast<blasint>(p.c_leading)};
        gemm(shape, a + at(p.a_transposed, p.a_leading, i, l), b + at(p.b_transposed, p.b_leading, l, j),
             l == 0 && !p.adds ? T{0} : T{1}, c + i * p.c_leading + j);
      }
}

template <typename T>
bool threads_share_rows(const MatrixProduct& p) {
  const int64_t threads = thread_count();
  return threads > 1 && p.m >= kLeastRows * threads &&
         p.n * p.k * static_cast<int64_t>(sizeof(T)) <= kOwnCopy && p.m * p.n * p.k >= kSharedWork;
}

/// Our threads share the rows, with one call of OpenBLAS each. OpenBLAS's own threads copy the right matrix
/// together and wait for one another at each panel of it, which costs up to a fifth if a copy per thread is
/// cheap.
template <typename T>
void multiply_rows_by_blas(const MatrixProduct& p, const T* a, const T* b, T* c) {
  const int64_t units = (p.m + kRowUnit - 1) / kRowUnit;
  parallel_ranges(units, p.m * p.n * p.k, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kRowUnit;
    MatrixProduct share = p;
    share.m = std::min(p.m, end * kRowUnit) - first;
    multiply_by_blas(share, a + first * (p.a_transposed ? 1 : p.a_leading), b, c + first * p.c_leading);
  });
}

/// Keeps OpenBLAS from starting threads during its lifetime.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Our threads share the rows: OpenBLAS would start its own even for work that is too small to be worth it.
template <typename T>
void multiply_by_vector(const VectorProduct& p, const T* a, const T* x, T* y) {
  const auto some = [&](int64_t begin, int64_t end) {
    if (!p.adds)
      for (int64_t i = begin; i < end; ++i) y[i * p.y_step] = 0;
    for (int64_t i = begin; i < end; i += kLargest)
      for (int64_t l = 0; l < p.inner; l += kLargest) {
        VectorProduct share = p;
        share.rows = std::min(kLargest, end - i);
        share.inner = std::min(kLargest, p.inner - l);
        gemv(share, a + (p.transposed ? l * p.leading + i : i * p.leading + l), x + l * p.x_step,
             y + i * p.y_step);
      }
  };
  const int64_t work = p.rows * p.inner;
  if (work < kParallelWork) {
    const OneThread alone;
    some(0, p.rows);
  } else {
    parallel_ranges(p.rows, work, some);
  }
}

/// The product as one of a matrix and a vector; `m` or `n` is 1.
VectorProduct vector_product(const MatrixProduct& p) {
  if (p.n == 1)
    return {p.m, p.k, p.a_transposed, p.a_leading, p.b_transposed ? 1 : p.b_leading, p.c_leading, p.adds};
  return {p.n, p.k, !p.b_transposed, p.b_leading, p.a_transposed ? p.a_leading : 1, 1, p.adds};
}

template <typename T>
void multiply_floats(const MatrixProduct& p, const T* a, const T* b, T* c) {
  if (const ThinProduct rows = few_rows(p); !p.adds && is_thin(rows)) return multiply_thin(rows, a, b, c);
  if (const ThinProduct columns = few_columns(p); !p.adds && is_thin(columns))
    return multiply_thin(columns, b, a, c);
  if (p.n == 1) return multiply_by_vector(vector_product(p), a, b, c);
  if (p.m == 1) return multiply_by_vector(vector_product(p), b, a, c);
  if (threads_share_rows<T>(p)) return multiply_rows_by_blas(p, a, b, c);
  multiply_by_blas(p, a, b, c);
}

}  // namespace

void load_blas() {
  openblas();
}

template <typename T>
void multiply(const MatrixProduct& p, const T* a, const T* b, T* c) {
  if constexpr (std::is_floating_point_v<T>) {
    if (p.m == 1 && p.n == 1) {
      *c = (p.adds ? *c : T{0}) + multiply_row_by_column(a, p.a_transposed ? p.a_leading : 1, b,
                                                         p.b_transposed ? 1 : p.b_leading, p.k);
      return;
    }
    const bool fits = std::max({p.a_leading, p.b_leading, p.c_leading}) <= kLargestLeading;
    const bool small = p.m * p.n <= kSmall && p.m * p.n * p.k <= kSmall;
    if (fits && !small && p.k > 0) return multiply_floats(p, a, b, c);
  }
  multiply_by_loops(p, a, b, c);
}

template void multiply(const MatrixProduct&, const float*, const float*, float*);
template void multiply(const MatrixProduct&, const double*, const double*, double*);
template void multiply(const MatrixProduct&, const int32_t*, const int32_t*, int32_t*);
template void multiply(const MatrixProduct&, const int64_t*, const int64_t*, int64_t*);

}  // namespace mtfc
