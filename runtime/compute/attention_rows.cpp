#include "runtime/compute/attention_rows.h"

#include <algorithm>
#include <limits>

#include "runtime/compute/exponential.h"
#include "runtime/compute/run_widest.h"

namespace mtfc {
namespace {

template <typename T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// Scores beyond the last column are not seen, so that all loops run over whole vectors.
template <typename T>
int64_t padded(const ScoreTile<T>& tile, T* row) {
  const int64_t width = (tile.columns + kScoreVector - 1) / kScoreVector * kScoreVector;
  std::fill(row + tile.columns, row + width, kNever<T>);
  return width;
}

// A query that sees nothing yet keeps the weights 0 = exp(-inf - 0).
template <typename T>
T shift_of(T largest) {
  return largest == kNever<T> ? T{0} : largest;
}

template <typename T>
struct CapScores {
  const ScoreTile<T>& tile;
  T cap;
  T* slopes;

  MTFC_INLINE void run(const CapScores& work) {
    const ScoreTile<T>& tile = work.tile;
    const T cap = work.cap, by = 1 / cap;
    for (int64_t r = 0; r < tile.rows; ++r) {
      T* const row = tile.scores + r * tile.leading;
      const int64_t width = padded(tile, row);
      if (work.slopes) {
        T* const slope = work.slopes + r * tile.leading;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) {
          const T bent = std::tanh(row[c] * by);
          slope[c] = 1 - bent * bent;
          row[c] = cap * bent;
        }
        continue;
      }
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) row[c] = cap * std::tanh(row[c] * by);
    }
  }
};

template <typename T>
struct AddExponentials {
  const ScoreTile<T>& tile;
  const RunningSoftmax<T>& running;

  MTFC_INLINE void run(const AddExponentials& work) {
    const ScoreTile<T>& tile = work.tile;
    for (int64_t r = 0; r < tile.rows; ++r) {
      T* const row = tile.scores + r * tile.leading;
      const int64_t width = padded(tile, row);
      T most = row[0];
#pragma omp simd reduction(max : most)
      for (int64_t c = 0; c < width; ++c) most = row[c] > most ? row[c] : most;
      const T before = work.running.largest[r], largest = std::max(before, most), shift = shift_of(largest);
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t c = 0; c < width; ++c) {
        row[c] = exponential(row[c] - shift);
        sum += row[c];
      }
      const T factor = before == kNever<T> ? T{0} : std::exp(before - shift);
      work.running.factors[r] = factor;
      work.running.sums[r] = work.running.sums[r] * factor + sum;
      work.running.largest[r] = largest;
    }
  }
};

template <typename T>
struct ReplaceByWeights {
  const ScoreTile<T>& tile;
  const T* totals;

  MTFC_INLINE void run(const ReplaceByWeights& work) {
    const ScoreTile<T>& tile = work.tile;
    for (int64_t r = 0; r < tile.rows; ++r) {
      T* const row = tile.scores + r * tile.leading;
      const int64_t width = padded(tile, row);
      const T shift = shift_of(work.totals[r]);
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) row[c] = exponential(row[c] - shift);
    }
  }
};

template <typename T>
struct MultiplyElements {
  const ScoreTile<T>& tile;
  const T* factors;

  MTFC_INLINE void run(const MultiplyElements& work) {
    const ScoreTile<T>& tile = work.tile;
    for (int64_t r = 0; r < tile.rows; ++r) {
      T* const row = tile.scores + r * tile.leading;
      const T* const factor = work.factors + r * tile.leading;
#pragma omp simd
      for (int64_t c = 0; c < tile.columns; ++c) row[c] *= factor[c];
    }
  }
};

template <typename T>
struct ReplaceByScoreGradients {
  const ScoreTile<T>& weights;
  T* gradients;
  const T* deltas;

  MTFC_INLINE void run(const ReplaceByScoreGradients& work) {
    const ScoreTile<T>& tile = work.weights;
    for (int64_t r = 0; r < tile.rows; ++r) {
      const T* const row = tile.scores + r * tile.leading;
      T* const gradient = work.gradients + r * tile.leading;
      const T delta = work.deltas[r];
#pragma omp simd
      for (int64_t c = 0; c < tile.columns; ++c) gradient[c] = row[c] * (gradient[c] - delta);
    }
  }
};

// Asks for rows some time before they are used: a processor reads ahead by itself only to the end of a page, and the
// rows of one query fill few pages.
template <typename T>
MTFC_INLINE void ask_for_rows(const Rows<T>& rows, int64_t first, int64_t count) {
  constexpr int64_t kAhead = 32, kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t last = std::min(first + kAhead + count, rows.count);
  for (int64_t r = first + kAhead; r < last; ++r)
    for (int64_t i = 0; i < rows.width; i += kLine) __builtin_prefetch(rows.at + r * rows.leading + i);
}

template <typename T>
struct DotRows {
  const T* query;
  const Rows<T>& rows;
  T* scores;

  // Several rows at a time, so that additions need not wait for one another.
  MTFC_INLINE void run(const DotRows& work) {
    const T* const query = work.query;
    const auto [at, leading, count, width] = work.rows;
    const T* row = at;
    int64_t r = 0;
    for (; r + 4 <= count; r += 4, row += 4 * leading) {
      const T *const second = row + leading, *const third = second + leading, *const fourth = third + leading;
      ask_for_rows(work.rows, r, 4);
      T a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
      for (int64_t i = 0; i < width; ++i) {
        a += query[i] * row[i];
        b += query[i] * second[i];
        c += query[i] * third[i];
        d += query[i] * fourth[i];
      }
      work.scores[r] = a;
      work.scores[r + 1] = b;
      work.scores[r + 2] = c;
      work.scores[r + 3] = d;
    }
    for (; r < count; ++r, row += leading) {
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < width; ++i) sum += query[i] * row[i];
      work.scores[r] = sum;
    }
  }
};

template <typename T>
struct AddWeightedRows {
  const T* weights;
  const Rows<T>& rows;
  T* sum;

  // Several rows at a time, so that sums are loaded and stored less often.
  MTFC_INLINE void run(const AddWeightedRows& work) {
    constexpr int64_t kTogether = 8;
    T* const sum = work.sum;
    const auto [at, leading, count, width] = work.rows;
    int64_t r = 0;
    for (; r + kTogether <= count; r += kTogether) {
      const T* const first = at + r * leading;
      const T* const weights = work.weights + r;
      ask_for_rows(work.rows, r, kTogether);
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) {
        T all = sum[i];
        for (int64_t k = 0; k < kTogether; ++k) all += weights[k] * first[k * leading + i];
        sum[i] = all;
      }
    }
    for (; r < count; ++r) {
      const T* const row = at + r * leading;
      const T weight = work.weights[r];
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) sum[i] += weight * row[i];
    }
  }
};

}  // namespace

template <typename T>
void cap_scores(const ScoreTile<T>& tile, T cap, T* slopes) {
  run_widest(CapScores<T>{tile, cap, slopes});
}

template <typename T>
void add_exponentials(const ScoreTile<T>& tile, const RunningSoftmax<T>& running) {
  run_widest(AddExponentials<T>{tile, running});
}

template <typename T>
void dot_rows(const T* query, const Rows<T>& rows, T* scores) {
  run_widest(DotRows<T>{query, rows, scores});
}

template <typename T>
void add_weighted_rows(const T* weights, const Rows<T>& rows, T* sum) {
  run_widest(AddWeightedRows<T>{weights, rows, sum});
}

template <typename T>
void replace_by_weights(const ScoreTile<T>& tile, const T* totals) {
  run_widest(ReplaceByWeights<T>{tile, totals});
}

template <typename T>
void multiply_elements(const ScoreTile<T>& tile, const T* factors) {
  run_widest(MultiplyElements<T>{tile, factors});
}

template <typename T>
void replace_by_score_gradients(const ScoreTile<T>& weights, T* gradients, const T* deltas) {
  run_widest(ReplaceByScoreGradients<T>{weights, gradients, deltas});
}

template void cap_scores(const ScoreTile<float>&, float, float*);
template void cap_scores(const ScoreTile<double>&, double, double*);
template void add_exponentials(const ScoreTile<float>&, const RunningSoftmax<float>&);
template void add_exponentials(const ScoreTile<double>&, const RunningSoftmax<double>&);
template void dot_rows(const float*, const Rows<float>&, float*);
template void dot_rows(const double*, const Rows<double>&, double*);
template void add_weighted_rows(const float*, const Rows<float>&, float*);
template void add_weighted_rows(const double*, const Rows<double>&, double*);
template void replace_by_weights(const ScoreTile<float>&, const float*);
template void replace_by_weights(const ScoreTile<double>&, const double*);
template void multiply_elements(const ScoreTile<float>&, const float*);
template void multiply_elements(const ScoreTile<double>&, const double*);
template void replace_by_score_gradients(const ScoreTile<float>&, float*, const float*);
template void replace_by_score_gradients(const ScoreTile<double>&, double*, const double*);

}  // namespace mtfc
