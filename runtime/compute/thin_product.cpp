#include "runtime/compute/thin_product.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

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
constexpr int64_t kUnroll = 4;         // rows of the wide matrix that are added together, ...
constexpr int64_t kUnrollFew = 8;      // ... for one or two few rows
constexpr int64_t kSums = 4096;        // sums that stay in the first-level cache
constexpr int64_t kInnerChunk = 2048;  // elements of each few row that stay in the second-level cache

constexpr int64_t kLeastVector = int64_t{1} << 18;  // elements of the wide matrix, for one row
// Threads share the rows of the wide matrix in so many parts, so that each reads its memory from one end to the other.
// If each took a part of every row, they would read half as much in a second.
constexpr int64_t kParts = 8;
constexpr int64_t kShortestPart = 64;            // rows
constexpr int64_t kShortestItem = 64;            // columns of the wide matrix
constexpr int64_t kMostSums = int64_t{1} << 20;  // of all parts
constexpr int64_t kVectorBytes = 64;             // of the widest vectors

// The matrices of a product, laid out as its ThinProduct says.
template <typename T, typename W>
struct Matrices {
  const T* few;
  const W* wide;
  T* result;
};

// Sums over a part of the wide dimension: `count` for each few row, and the rows `width` apart.
template <typename T>
struct Sums {
  T* at;
  int64_t width;
  int64_t count;
};

#if defined(__x86_64__)
#define MTFC_VECTOR_CALL [[gnu::always_inline]] MTFC_TARGET inline
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 takes the registers that its own intrinsics leave undefined for variables of ours (its bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
// One row times bf16 or i8. Compilers turn the conversions in the loops below into many more instructions.
namespace avx512 {
#define MTFC_TARGET MTFC_AVX512
using Vector = __m512;
constexpr int64_t kLanes = 16;
constexpr int64_t kRowsTogether = 8;   // of the wide matrix, in along_wide
constexpr int64_t kBytesAhead = 1024;  // of each of these rows
constexpr int64_t kDotBytesAhead = 0;  // in along_inner; 0: as the processor does by itself
MTFC_VECTOR_CALL Vector load(const int8_t* from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
MTFC_VECTOR_CALL Vector load(const Bf16* from) {
  const __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}
MTFC_VECTOR_CALL Vector load(const float* from) {
  return _mm512_loadu_ps(from);
}
MTFC_VECTOR_CALL void store(float* to, Vector values) {
  _mm512_storeu_ps(to, values);
}
MTFC_VECTOR_CALL Vector all(float value) {
  return _mm512_set1_ps(value);
}
MTFC_VECTOR_CALL Vector add(Vector a, Vector b) {
  return _mm512_add_ps(a, b);
}
MTFC_VECTOR_CALL Vector multiply_add(Vector a, Vector b, Vector sum) {
  return _mm512_fmadd_ps(a, b, sum);
}
MTFC_VECTOR_CALL float sum_of(Vector values) {
  return _mm512_reduce_add_ps(values);
}
#include "runtime/compute/narrow_loops.inc"
#undef MTFC_TARGET
}  // namespace avx512

namespace avx2 {
#define MTFC_TARGET MTFC_AVX2
using Vector = __m256;
constexpr int64_t kLanes = 8;
// A Zen 3 reads one row after the other up to twice as fast as eight at a time.
constexpr int64_t kRowsTogether = 1;
constexpr int64_t kBytesAhead = 4096;
constexpr int64_t kDotBytesAhead = 2048;
MTFC_VECTOR_CALL Vector load(const int8_t* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
MTFC_VECTOR_CALL Vector load(const Bf16* from) {
  const __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
}
MTFC_VECTOR_CALL Vector load(const float* from) {
  return _mm256_loadu_ps(from);
}
MTFC_VECTOR_CALL void store(float* to, Vector values) {
  _mm256_storeu_ps(to, values);
}
MTFC_VECTOR_CALL Vector all(float value) {
  return _mm256_set1_ps(value);
}
MTFC_VECTOR_CALL Vector add(Vector a, Vector b) {
  return _mm256_add_ps(a, b);
}
MTFC_VECTOR_CALL Vector multiply_add(Vector a, Vector b, Vector sum) {
  return _mm256_fmadd_ps(a, b, sum);
}
MTFC_VECTOR_CALL float sum_of(Vector values) {
  const __m128 halves = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  const __m128 pairs = _mm_add_ps(halves, _mm_movehl_ps(halves, halves));
  return _mm_cvtss_f32(_mm_add_ss(pairs, _mm_movehdup_ps(pairs)));
}
#include "runtime/compute/narrow_loops.inc"
#undef MTFC_TARGET
}  // namespace avx2
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

// The loops without a choice of vectors: everything is inlined into one function per target.
template <typename T, typename W>
struct Loops {
  // As many elements as fill the widest vector.
  static constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(T));
  typedef T Lanes __attribute__((vector_size(kVectorBytes)));

  MTFC_INLINE void load(const T* from, Lanes& to) { std::memcpy(&to, from, sizeof(to)); }
  MTFC_INLINE void load(const Bf16* from, Lanes& to) {
    typedef uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));
    typedef uint32_t Words __attribute__((vector_size(kVectorBytes)));
    Halves stored;
    std::memcpy(&stored, from, sizeof(stored));
    const Words bits = __builtin_convertvector(stored, Words) << 16;
    std::memcpy(&to, &bits, sizeof(to));
  }
  MTFC_INLINE void load(const int8_t* from, Lanes& to) {
    typedef int8_t Bytes __attribute__((vector_size(kVectorBytes / 4)));
    Bytes stored;
    std::memcpy(&stored, from, sizeof(stored));
    to = __builtin_convertvector(stored, Lanes);
  }

  /// sums[r][j] += few[r][0..Rows) * wide[0..Rows)[j]
  template <int64_t Few, int64_t Rows>
  MTFC_INLINE void add_rows(const ThinProduct& p, const T* few, const W* wide, Sums<T> to) {
    T* const sums = to.at;
    const int64_t width = to.width, count = to.count;
    T factors[Few][Rows];
    for (int64_t r = 0; r < Few; ++r)
      for (int64_t l = 0; l < Rows; ++l) factors[r][l] = few[r * p.few_step + l * p.few_inner_step];
#pragma omp simd
    for (int64_t j = 0; j < count; ++j)
      for (int64_t r = 0; r < Few; ++r) {
        T sum = sums[r * width + j];
        for (int64_t l = 0; l < Rows; ++l) sum += factors[r][l] * static_cast<T>(wide[l * p.leading + j]);
        sums[r * width + j] = sum;
      }
  }

  template <int64_t Rows>
  MTFC_INLINE void add_tiles(const ThinProduct& p, const T* few, const W* wide, Sums<T> sums) {
    for (int64_t r = 0; r < p.few; r += kTile, few += kTile * p.few_step, sums.at += kTile * sums.width) {
      if (p.few - r == 1)
        add_rows<1, Rows>(p, few, wide, sums);
      else if (p.few - r == 2)
        add_rows<2, Rows>(p, few, wide, sums);
      else if constexpr (Rows <= kUnroll) {
        if (p.few - r == 3)
          add_rows<3, Rows>(p, few, wide, sums);
        else
          add_rows<kTile, Rows>(p, few, wide, sums);
      }
    }
  }

  MTFC_INLINE void along_wide(const ThinProduct& p, Matrices<T, W> matrices, int64_t begin, int64_t end) {
    const auto [few, wide, result] = matrices;
    T sums[kSums];
    const int64_t width = kSums / p.few;
    for (int64_t first = begin; first < end; first += width) {
      const int64_t count = std::min(width, end - first);
      std::fill_n(sums, p.few * width, T{0});
      int64_t l = 0;
      for (; p.few <= 2 && l + kUnrollFew <= p.inner; l += kUnrollFew)
        add_tiles<kUnrollFew>(p, few + l * p.few_inner_step, wide + l * p.leading + first,
                              {sums, width, count});
      for (; l + kUnroll <= p.inner; l += kUnroll)
        add_tiles<kUnroll>(p, few + l * p.few_inner_step, wide + l * p.leading + first, {sums, width, count});
      for (; l < p.inner; ++l)
        add_tiles<1>(p, few + l * p.few_inner_step, wide + l * p.leading + first, {sums, width, count});
      for (int64_t r = 0; r < p.few; ++r)
        for (int64_t j = 0; j < count; ++j)
          result[r * p.result_few_step + (first + j) * p.result_wide_step] = sums[r * width + j];
    }
  }

  /// Multiplies Few rows, kInnerChunk apart, with a column, of which it adds up every Ways-th vector together.
  template <int64_t Few, int64_t Ways>
  MTFC_INLINE void dots(const T (*rows)[kInnerChunk], const W* column, int64_t count, T* sums) {
    Lanes lanes[Few][Ways] = {};
    int64_t l = 0;
    for (; l + Ways * kLanes <= count; l += Ways * kLanes)
      for (int64_t w = 0; w < Ways; ++w) {
        Lanes factors, row;
        load(column + l + w * kLanes, factors);
        for (int64_t r = 0; r < Few; ++r) {
          load(rows[r] + l + w * kLanes, row);
          lanes[r][w] += row * factors;
        }
      }
    for (int64_t r = 0; r < Few; ++r) {
      for (int64_t w = 1; w < Ways; ++w) lanes[r][0] += lanes[r][w];
      sums[r] = 0;
      for (int64_t lane = 0; lane < kLanes; ++lane) sums[r] += lanes[r][0][lane];
      for (int64_t at = l; at < count; ++at) sums[r] += rows[r][at] * static_cast<T>(column[at]);
    }
  }

  MTFC_INLINE void along_inner(const ThinProduct& p, Matrices<T, W> matrices, int64_t begin, int64_t end) {
    const auto [few, wide, result] = matrices;
    T rows[kFewDots][kInnerChunk];  // zeros beyond the last few row
    for (int64_t first = 0; first < p.inner; first += kInnerChunk) {
      const int64_t count = std::min(kInnerChunk, p.inner - first);
      for (int64_t r = 0; r < kFewDots; ++r)
        for (int64_t l = 0; l < count; ++l)
          rows[r][l] = r < p.few ? few[r * p.few_step + (first + l) * p.few_inner_step] : T{0};
      for (int64_t j = begin; j < end; ++j) {
        T sums[kFewDots];
        const W* const column = wide + j * p.leading + first;
        if (p.few == 1)
          dots<1, 4>(rows, column, count, sums);
        else
          dots<kFewDots, 1>(rows, column, count, sums);
        for (int64_t r = 0; r < p.few; ++r) {
          T& to = result[r * p.result_few_step + j * p.result_wide_step];
          to = first == 0 ? sums[r] : to + sums[r];
        }
      }
    }
  }

  MTFC_INLINE void run(const ThinProduct& p, Matrices<T, W> matrices, int64_t begin, int64_t end) {
    if (p.inner_side_by_side)
      along_inner(p, matrices, begin, end);
    else
      along_wide(p, matrices, begin, end);
  }

#if defined(__x86_64__)
  MTFC_AVX512 static void run_avx512(const ThinProduct& p, Matrices<T, W> matrices, int64_t begin,
                                     int64_t end) {
    if constexpr (!std::is_same_v<T, W>)
      if (p.few == 1) return avx512::NarrowLoops<W>::run(p, matrices, begin, end);
    run(p, matrices, begin, end);
  }
  MTFC_AVX2 static void run_avx2(const ThinProduct& p, Matrices<T, W> matrices, int64_t begin, int64_t end) {
    if constexpr (!std::is_same_v<T, W>)
      if (p.few == 1) return avx2::NarrowLoops<W>::run(p, matrices, begin, end);
    run(p, matrices, begin, end);
  }
#endif
  static void run_plain(const ThinProduct& p, Matrices<T, W> matrices, int64_t begin, int64_t end) {
    run(p, matrices, begin, end);
  }
};

template <typename T, typename W>
using RangeProduct = void (*)(const ThinProduct&, Matrices<T, W>, int64_t begin, int64_t end);

template <typename T, typename W>
RangeProduct<T, W> for_this_machine() {
#if defined(__x86_64__)
  if (vector_level() == VectorLevel::kAvx512) return Loops<T, W>::run_avx512;
  if (vector_level() == VectorLevel::kAvx2) return Loops<T, W>::run_avx2;
#endif
  return Loops<T, W>::run_plain;
}

int64_t parts_of(const ThinProduct& p) {
  const bool is_cut =
      !p.inner_side_by_side && p.inner >= kParts * kShortestPart && kParts * p.few * p.wide <= kMostSums;
  return is_cut ? kParts : 1;
}

// Computes the product in parts along its inner dimension, whose sums are then added in their order.
template <typename T, typename W>
void multiply_parts(RangeProduct<T, W> multiply, const ThinProduct& p, Matrices<T, W> whole) {
  thread_local std::vector<T> own;
  own.resize(std::max(own.size(), static_cast<size_t>(kParts * p.few * p.wide)));
  T* const sums = own.data();
  const int64_t size = p.few * p.wide, length = p.inner / kParts, work = size * p.inner;
  const int64_t threads = thread_count();
  // The wide dimension is cut too where there are many threads. Each should have two items or more, so that one which
  // is done early can take an item from another.
  const int64_t cuts = std::clamp<int64_t>(2 * threads / kParts, 1, std::min(p.wide, kMostShared / kParts));
  parallel_shares(kParts * cuts, work, [&](int64_t item) {
    const int64_t part = item / cuts, cut = item % cuts, first = part * length;
    ThinProduct share = p;
    share.inner = part + 1 == kParts ? p.inner - first : length;
    share.result_few_step = p.wide;
    share.result_wide_step = 1;
    multiply(share,
             {whole.few + first * p.few_inner_step, whole.wide + first * p.leading, sums + part * size},
             p.wide * cut / cuts, p.wide * (cut + 1) / cuts);
  });
  parallel_ranges(p.wide, kParts * size, [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < p.few; ++r)
      for (int64_t j = begin; j < end; ++j) {
        T sum = sums[r * p.wide + j];
        for (int64_t part = 1; part < kParts; ++part) sum += sums[part * size + r * p.wide + j];
        whole.result[r * p.result_few_step + j * p.result_wide_step] = sum;
      }
  });
}

}  // namespace

ThinProduct few_rows(const MatrixProduct& p) {
  return {.few = p.m,
          .wide = p.n,
          .inner = p.k,
          .inner_side_by_side = p.b_transposed,
          .leading = p.b_leading,
          .few_step = p.a_transposed ? 1 : p.a_leading,
          .few_inner_step = p.a_transposed ? p.a_leading : 1,
          .result_few_step = p.c_leading,
          .result_wide_step = 1};
}

ThinProduct few_columns(const MatrixProduct& p) {
  return {.few = p.n,
          .wide = p.m,
          .inner = p.k,
          .inner_side_by_side = !p.a_transposed,
          .leading = p.a_leading,
          .few_step = p.b_transposed ? p.b_leading : 1,
          .few_inner_step = p.b_transposed ? 1 : p.b_leading,
          .result_few_step = 1,
          .result_wide_step = p.c_leading};
}

bool is_thin(const ThinProduct& p) {
  const bool fits = p.inner_side_by_side ? p.few <= kFewDots && p.inner >= kShortestDot
                                         : p.few <= kFewRows && p.wide >= kShortestRow;
  return fits && p.wide * p.inner >= (p.few == 1 ? kLeastVector : (kLeastWork + p.few - 1) / p.few);
}

template <typename T, typename W>
void multiply_thin(const ThinProduct& product, const T* few, const W* wide, T* result) {
  static const RangeProduct<T, W> kMultiply = for_this_machine<T, W>();
  if (parts_of(product) > 1) return multiply_parts<T, W>(kMultiply, product, {few, wide, result});
  const int64_t items = std::clamp<int64_t>(product.wide / kShortestItem, 1, kMostShared);
  parallel_shares(items, product.few * product.wide * product.inner, [&](int64_t i) {
    kMultiply(product, {few, wide, result}, product.wide * i / items, product.wide * (i + 1) / items);
  });
}

template void multiply_thin(const ThinProduct&, const float*, const float*, float*);
template void multiply_thin(const ThinProduct&, const double*, const double*, double*);
template void multiply_thin(const ThinProduct&, const float*, const Bf16*, float*);
template void multiply_thin(const ThinProduct&, const float*, const int8_t*, float*);

}  // namespace mtfc
