#include "runtime/compute/tile_reduction.h"

#include <algorithm>

#include "runtime/compute/reduction_kinds.h"
#include "runtime/compute/run_widest.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

constexpr int64_t kLanes = 32;  // independent accumulators along a row

template <typename R, typename T>
struct Adding {
  using A = typename R::Accumulator;

  static void begin(std::byte* sums, int64_t count) {
    std::fill_n(reinterpret_cast<A*>(sums), count, R::identity());
  }

  static void merge(const std::byte* others, int64_t count, std::byte* sums) {
    for (int64_t i = 0; i < count; ++i)
      reinterpret_cast<A*>(sums)[i] =
          R::combine(reinterpret_cast<A*>(sums)[i], reinterpret_cast<const A*>(others)[i]);
  }

  static void finish(const std::byte* sums, int64_t count, double divisor, std::byte* results) {
    for (int64_t i = 0; i < count; ++i)
      reinterpret_cast<T*>(results)[i] = mtfc::finish<A, T>(reinterpret_cast<const A*>(sums)[i], divisor);
  }

  // Folds all lanes into the first by halving: one after another would take as long as hundreds of elements.
  template <int64_t kHalf>
  [[gnu::always_inline]] static inline void fold(A* lanes) {
#pragma omp simd
    for (int64_t lane = 0; lane < kHalf; ++lane) lanes[lane] = R::combine(lanes[lane], lanes[lane + kHalf]);
    if constexpr (kHalf > 1) fold<kHalf / 2>(lanes);
  }

  [[gnu::always_inline]] static inline A row(const T* x, int64_t count, A start) {
    int64_t i = 0;
    if (count >= 2 * kLanes) {
      A lanes[kLanes];
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = R::take(x[lane]);
      for (i = kLanes; i + kLanes <= count; i += kLanes)
#pragma omp simd
        for (int64_t lane = 0; lane < kLanes; ++lane)
          lanes[lane] = R::combine(lanes[lane], R::take(x[i + lane]));
      fold<kLanes / 2>(lanes);
      start = R::combine(start, lanes[0]);
    }
    for (; i < count; ++i) start = R::combine(start, R::take(x[i]));
    return start;
  }

  struct Rows {
    MTFC_INLINE void run(const std::byte* elements, int64_t rows, int64_t columns, std::byte* sums) {
      const T* x = reinterpret_cast<const T*>(elements);
      A* sum = reinterpret_cast<A*>(sums);
      for (int64_t r = 0; r < rows; ++r) sum[r] = row(x + r * columns, columns, sum[r]);
    }
  };

  struct Columns {
    MTFC_INLINE void run(const std::byte* elements, int64_t rows, int64_t columns, std::byte* sums) {
      const T* x = reinterpret_cast<const T*>(elements);
      A* sum = reinterpret_cast<A*>(sums);
      for (int64_t r = 0; r < rows; ++r, x += columns)
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) sum[c] = R::combine(sum[c], R::take(x[c]));
    }
  };

  static TileReduction functions() {
    return {sizeof(A), begin, widest_function<Rows>(), widest_function<Columns>(), merge, finish};
  }
};

}  // namespace

TileReduction tile_reduction(Reduction reduction, DType dtype) {
  return dispatch(ModelTypes{}, dtype, [&]<typename T>() -> TileReduction {
    if (reduction == Reduction::kMax) return Adding<Max<T>, T>::functions();
    if (reduction == Reduction::kMin) return Adding<Min<T>, T>::functions();
    if constexpr (!std::is_same_v<T, bool>) {
      if (reduction == Reduction::kProd) return Adding<Prod<T>, T>::functions();
      return Adding<Sum<T>, T>::functions();
    }
    throw InternalError("bool is not summed or multiplied");
  });
}

}  // namespace mtfc
