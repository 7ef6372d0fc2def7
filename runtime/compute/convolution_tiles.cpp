#include "runtime/compute/convolution_tiles.h"

#include <utility>

#include "runtime/compute/tile.h"
#include "runtime/compute/vector_targets.h"

namespace mtfc {
namespace {

/// Vectors of `Bytes` bytes. Everything is inlined into one function per tile and kind of vectors.
template <typename T, int64_t Bytes>
struct Vectors {
  static constexpr int64_t kLanes = Bytes / static_cast<int64_t>(sizeof(T));
  typedef T Vector __attribute__((vector_size(Bytes)));

  // Memory need not be aligned to vectors.
  MTFC_INLINE void load(const T* from, Vector& to) { __builtin_memcpy(&to, from, sizeof(Vector)); }
  MTFC_INLINE void store(const Vector& from, T* to) { __builtin_memcpy(to, &from, sizeof(Vector)); }

  /// Writes columns that do not fill their vectors, or that do not lie side by side.
  template <int64_t V>
  MTFC_INLINE void put_columns(const ConvTile<T>& tile, const Vector (&sums)[V], T* out) {
    T values[V * kLanes];
#pragma GCC unroll 8
    for (int64_t v = 0; v < V; ++v) store(sums[v], values + v * kLanes);
    for (int64_t n = 0; n < tile.n; ++n) {
      T& to = out[tile.columns ? tile.columns[n] : n];
      to = tile.adds ? to + values[n] : values[n];
    }
  }

  /// Writes vectors of sums from column n on.
  template <int64_t M, int64_t V>
  MTFC_INLINE void put_vectors(const ConvTile<T>& tile, const Vector (&sums)[M][V], int64_t n) {
    T* out[M];
#pragma GCC unroll 8
    for (int64_t r = 0; r < M; ++r) out[r] = tile.out[r] + n;
    const bool adds = tile.adds;
#pragma GCC unroll 8
    for (int64_t r = 0; r < M; ++r)
#pragma GCC unroll 8
      for (int64_t v = 0; v < V; ++v) {
        Vector sum = sums[r][v], before = {};
        if (adds) load(out[r] + v * kLanes, before), sum = before + sum;
        store(sum, out[r] + v * kLanes);
      }
  }

  template <int64_t M, int64_t V>
  MTFC_INLINE void put(const ConvTile<T>& tile, const Vector (&sums)[M][V]) {
    if (!tile.columns && tile.n == V * kLanes) return put_vectors<M, V>(tile, sums, 0);
#pragma GCC unroll 8
    for (int64_t r = 0; r < M; ++r) put_columns<V>(tile, sums[r], tile.out[r]);
  }

  /// Adds the product of the elements at a[0..M) + offset and the vectors at b.
  template <int64_t M, int64_t V>
  MTFC_INLINE void add_product(Vector (&sums)[M][V], const T* const (&a)[M], int64_t offset, const T* b) {
    Vector columns[V];
#pragma GCC unroll 8
    for (int64_t v = 0; v < V; ++v) load(b + v * kLanes, columns[v]);
#pragma GCC unroll 8
    for (int64_t r = 0; r < M; ++r) {
      const T factor = a[r][offset];
#pragma GCC unroll 8
      for (int64_t v = 0; v < V; ++v) sums[r][v] += factor * columns[v];
    }
  }

  template <int64_t M, int64_t V>
  MTFC_INLINE void add_runs(const ConvTile<T>& tile) {
    Vector sums[M][V] = {};
    const T* b = tile.panel;
    for (int64_t e = 0; e < tile.count; ++e) {
      const T* a[M];
#pragma GCC unroll 8
      for (int64_t r = 0; r < M; ++r) a[r] = tile.a[e * M + r];
      for (int64_t j = 0; j < tile.length; ++j, b += V * kLanes) add_product<M, V>(sums, a, j, b);
    }
    put<M, V>(tile, sums);
  }

  template <int64_t M, int64_t V>
  MTFC_INLINE void add_rows(const ConvTile<T>& tile) {
    Vector sums[M][V] = {};
    for (int64_t e = 0; e < tile.count; ++e) {
      const T* a[M];
#pragma GCC unroll 8
      for (int64_t r = 0; r < M; ++r) a[r] = tile.a[e] + (tile.first + r);
      add_product<M, V>(sums, a, 0, tile.b[e]);
    }
    put<M, V>(tile, sums);
  }

  /// V vectors of lanes, from lane n on.
  template <int64_t M, int64_t V>
  MTFC_INLINE void add_lane_vectors(const ConvTile<T>& tile, int64_t n) {
    Vector sums[M][V] = {};
    for (int64_t e = 0; e < tile.count; ++e) {
      Vector b[V];
#pragma GCC unroll 8
      for (int64_t v = 0; v < V; ++v) load(tile.b[e] + n + v * kLanes, b[v]);
#pragma GCC unroll 8
      for (int64_t r = 0; r < M; ++r)
#pragma GCC unroll 8
        for (int64_t v = 0; v < V; ++v) {
          Vector a;
          load(tile.a[e * M + r] + n + v * kLanes, a);
          sums[r][v] += a * b[v];
        }
    }
    put_vectors<M, V>(tile, sums, n);
  }

  template <int64_t M>
  MTFC_INLINE void add_lanes(const ConvTile<T>& tile) {
    int64_t n = 0;
    for (; n + 4 * kLanes <= tile.n; n += 4 * kLanes) add_lane_vectors<M, 4>(tile, n);
    for (; n + kLanes <= tile.n; n += kLanes) add_lane_vectors<M, 1>(tile, n);
    for (; n < tile.n; ++n)
      for (int64_t r = 0; r < M; ++r) {
        T sum = 0;
        for (int64_t e = 0; e < tile.count; ++e) sum += tile.a[e * M + r][n] * tile.b[e][n];
        tile.out[r][n] = tile.adds ? tile.out[r][n] + sum : sum;
      }
  }
};

/// The functions compiled for one kind of vectors.
#define MTFC_TILE_FUNCTIONS(Name, Bytes, Target)        \
  template <typename T>                                 \
  struct Name {                                         \
    static constexpr int64_t kBytes = Bytes;            \
    template <int64_t M, int64_t V>                     \
    Target static void runs(const ConvTile<T>& tile) {  \
      Vectors<T, Bytes>::template add_runs<M, V>(tile); \
    }                                                   \
    template <int64_t M, int64_t V>                     \
    Target static void rows(const ConvTile<T>& tile) {  \
      Vectors<T, Bytes>::template add_rows<M, V>(tile); \
    }                                                   \
    template <int64_t M>                                \
    Target static void lanes(const ConvTile<T>& tile) { \
      Vectors<T, Bytes>::template add_lanes<M>(tile);   \
    }                                                   \
  };
MTFC_TILE_FUNCTIONS(Plain, 16, )
#if defined(__x86_64__)
MTFC_TILE_FUNCTIONS(Avx2, 32, MTFC_AVX2)
MTFC_TILE_FUNCTIONS(Avx512, 64, MTFC_AVX512)
#endif
#undef MTFC_TILE_FUNCTIONS

template <typename T, typename Functions, int64_t M, size_t... V>
void set_rows(ConvTiles<T>& tiles, std::index_sequence<V...>) {
  ((tiles.runs[M][V] = Functions::template runs<M, V + 1>), ...);
  ((tiles.rows[M][V] = Functions::template rows<M, V + 1>), ...);
}

template <typename T, typename Functions, int64_t MostVectors>
ConvTiles<T> tiles_of() {
  ConvTiles<T> tiles;
  tiles.lanes = Functions::kBytes / static_cast<int64_t>(sizeof(T));
  tiles.vectors = MostVectors;
  constexpr auto kVectors = std::make_index_sequence<MostVectors>{};
  set_rows<T, Functions, 1>(tiles, kVectors);
  set_rows<T, Functions, 2>(tiles, kVectors);
  set_rows<T, Functions, 4>(tiles, kVectors);
  set_rows<T, Functions, 6>(tiles, kVectors);
  tiles.of_lanes[1] = Functions::template lanes<1>;
  tiles.of_lanes[4] = Functions::template lanes<4>;
  return tiles;
}

template <typename T>
ConvTiles<T> choose_tiles() {
#if defined(__x86_64__)
  if (vector_level() == VectorLevel::kAvx512) return tiles_of<T, Avx512<T>, 4>();
  if (vector_level() == VectorLevel::kAvx2) return tiles_of<T, Avx2<T>, 2>();
#endif
  return tiles_of<T, Plain<T>, 2>();
}

}  // namespace

template <typename T>
const ConvTiles<T>& ConvTiles<T>::best() {
  static const ConvTiles tiles = choose_tiles<T>();
  return tiles;
}

template struct ConvTiles<float>;
template struct ConvTiles<double>;

}  // namespace mtfc
