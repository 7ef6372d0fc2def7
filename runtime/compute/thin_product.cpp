#include "runtime/compute/thin_product.h"

#include <algorithm>

#include "runtime/compute/parallel.h"
#include "runtime/compute/vector_targets.h"

namespace mtfc {
namespace {

constexpr int64_t kFewRows = 12;       // most few rows for adding up rows of the wide matrix ...
constexpr int64_t kShortestRow = 64;   // ... of at least this many elements
constexpr int64_t kFewDots = 4;        // most few rows for dot products with its columns ...
constexpr int64_t kShortestDot = 128;  // ... of at least this many elements
constexpr int64_t kLeastWork = int64_t{1} << 20;
constexpr int64_t kTile = 4;           // few rows that are multiplied together
constexpr int64_t kUnroll = 4;         // rows of the wide matrix that are added together
constexpr int64_t kSums = 4096;        // sums that stay in the first-level cache
constexpr int64_t kInnerChunk = 2048;  // elements of each few row that stay in the second-level cache

// The matrices of a product, laid out as its ThinProduct says.
template <typename T>
struct Matrices {
  const T* few;
  const T* wide;
  T* result;
};

// Sums over a part of the wide dimension: `count` for each few row, and the rows `width` apart.
template <typename T>
struct Sums {
  T* at;
  int64_t width;
  int64_t count;
};

// The loops without a choice of vectors: everything is inlined into one function per target.
template <typename T>
struct Loops {
  /// sums[r][j] += few[r][0..Rows) * wide[0..Rows)[j]
  template <int64_t Few, int64_t Rows>
  MTFC_INLINE void add_rows(const ThinProduct& p, const T* few, const T* wide, Sums<T> to) {
    T* const sums = to.at;
    const int64_t width = to.width, count = to.count;
    T factors[Few][Rows];
    for (int64_t r = 0; r < Few; ++r)
      for (int64_t l = 0; l < Rows; ++l) factors[r][l] = few[r * p.few_step + l * p.few_inner_step];
#pragma omp simd
    for (int64_t j = 0; j < count; ++j)
      for (int64_t r = 0; r < Few; ++r) {
        T sum = sums[r * width + j];
        for (int64_t l = 0; l < Rows; ++l) sum += factors[r][l] * wide[l * p.leading + j];
        sums[r * width + j] = sum;
      }
  }

  template <int64_t Rows>
  MTFC_INLINE void add_tiles(const ThinProduct& p, const T* few, const T* wide, Sums<T> sums) {
    for (int64_t r = 0; r < p.few; r += kTile, few += kTile * p.few_step, sums.at += kTile * sums.width) {
      if (p.few - r == 1)
        add_rows<1, Rows>(p, few, wide, sums);
      else if (p.few - r == 2)
        add_rows<2, Rows>(p, few, wide, sums);
      else if (p.few - r == 3)
        add_rows<3, Rows>(p, few, wide, sums);
      else
        add_rows<kTile, Rows>(p, few, wide, sums);
    }
  }

  MTFC_INLINE void along_wide(const ThinProduct& p, Matrices<T> matrices, int64_t begin, int64_t end) {
    const auto [few, wide, result] = matrices;
    T sums[kSums];
    const int64_t width = kSums / p.few;
    for (int64_t first = begin; first < end; first += width) {
      const int64_t count = std::min(width, end - first);
      std::fill_n(sums, p.few * width, T{0});
      int64_t l = 0;
      for (; l + kUnroll <= p.inner; l += kUnroll)
        add_tiles<kUnroll>(p, few + l * p.few_inner_step, wide + l * p.leading + first, {sums, width, count});
      for (; l < p.inner; ++l)
        add_tiles<1>(p, few + l * p.few_inner_step, wide + l * p.leading + first, {sums, width, count});
      for (int64_t r = 0; r < p.few; ++r)
        for (int64_t j = 0; j < count; ++j)
          result[r * p.result_few_step + (first + j) * p.result_wide_step] = sums[r * width + j];
    }
  }

  /// Multiplies kFewDots rows, stored side by side, with one column.
  MTFC_INLINE void dots(const T (*rows)[kInnerChunk], const T* column, int64_t count, T* sums) {
    T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (int64_t l = 0; l < count; ++l) {
      s0 += rows[0][l] * column[l];
      s1 += rows[1][l] * column[l];
      s2 += rows[2][l] * column[l];
      s3 += rows[3][l] * column[l];
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
  }

  MTFC_INLINE void along_inner(const ThinProduct& p, Matrices<T> matrices, int64_t begin, int64_t end) {
    const auto [few, wide, result] = matrices;
    T rows[kFewDots][kInnerChunk];  // zeros beyond the last few row
    for (int64_t first = 0; first < p.inner; first += kInnerChunk) {
      const int64_t count = std::min(kInnerChunk, p.inner - first);
      for (int64_t r = 0; r < kFewDots; ++r)
        for (int64_t l = 0; l < count; ++l)
          rows[r][l] = r < p.few ? few[r * p.few_step + (first + l) * p.few_inner_step] : T{0};
      for (int64_t j = begin; j < end; ++j) {
        T sums[kFewDots];
        dots(rows, wide + j * p.leading + first, count, sums);
        for (int64_t r = 0; r < p.few; ++r) {
          T& to = result[r * p.result_few_step + j * p.result_wide_step];
          to = first == 0 ? sums[r] : to + sums[r];
        }
      }
    }
  }

  MTFC_INLINE void run(const ThinProduct& p, Matrices<T> matrices, int64_t begin, int64_t end) {
    if (p.inner_side_by_side)
      along_inner(p, matrices, begin, end);
    else
      along_wide(p, matrices, begin, end);
  }

#if defined(__x86_64__)
  MTFC_AVX512 static void run_avx512(const ThinProduct& p, Matrices<T> matrices, int64_t begin, int64_t end) {
    run(p, matrices, begin, end);
  }
  MTFC_AVX2 static void run_avx2(const ThinProduct& p, Matrices<T> matrices, int64_t begin, int64_t end) {
    run(p, matrices, begin, end);
  }
#endif
  static void run_plain(const ThinProduct& p, Matrices<T> matrices, int64_t begin, int64_t end) {
    run(p, matrices, begin, end);
  }
};

template <typename T>
using RangeProduct = void (*)(const ThinProduct&, Matrices<T>, int64_t begin, int64_t end);

template <typename T>
RangeProduct<T> for_this_machine() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Loops<T>::run_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Loops<T>::run_avx2;
#endif
  return Loops<T>::run_plain;
}

}  // namespace

bool is_thin(const ThinProduct& p) {
  const bool fits = p.inner_side_by_side ? p.few <= kFewDots && p.inner >= kShortestDot
                                         : p.few <= kFewRows && p.wide >= kShortestRow;
  return fits && p.wide * p.inner >= (kLeastWork + p.few - 1) / p.few;
}

template <typename T>
void multiply_thin(const ThinProduct& product, const T* few, const T* wide, T* result) {
  static const RangeProduct<T> kMultiply = for_this_machine<T>();
  parallel_ranges(product.wide, product.few * product.wide * product.inner, [&](int64_t begin, int64_t end) {
    kMultiply(product, {few, wide, result}, begin, end);
  });
}

template void multiply_thin(const ThinProduct&, const float*, const float*, float*);
template void multiply_thin(const ThinProduct&, const double*, const double*, double*);

}  // namespace mtfc
