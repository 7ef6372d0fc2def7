#include "runtime/compute/widened_product.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/compute/in_f32.h"
#include "runtime/compute/onednn.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/thin_product.h"

namespace mtfc {
namespace {

// The sides of a block of the result, and the length of a block of the contracted dimension: up to 5 MB of f32 in all.
constexpr int64_t kBlock = 512, kSmallestBlock = 64, kInnerBlock = 1024;

// Part of a matrix as it is stored: `rows` rows of `columns` elements, `leading` apart.
template <typename T>
struct Stored {
  const T* first;
  int64_t rows, columns, leading;
};

// Rows [row, row + rows) and columns [column, column + columns) of a matrix, which is stored columns first if
// `transposed`.
template <typename T>
Stored<T> part(const T* matrix, bool transposed, int64_t leading, int64_t row, int64_t rows, int64_t column,
               int64_t columns) {
  if (transposed) return {matrix + column * leading + row, columns, rows, leading};
  return {matrix + row * leading + column, rows, columns, leading};
}

void widen_row(const Bf16* from, float* to, int64_t count) {
  static const TileFunction convert = bf16_to_f32();
  const auto* const start = reinterpret_cast<const std::byte*>(from);
  convert(&start, reinterpret_cast<std::byte*>(to), count);
}

void widen_row(const int8_t* from, float* to, int64_t count) {
  static const TileFunction convert = i8_to_f32();
  const auto* const start = reinterpret_cast<const std::byte*>(from);
  convert(&start, reinterpret_cast<std::byte*>(to), count);
}

// Returns the part in f32, and sets `leading`: as it is stored, or converted into `copy`.
template <typename T>
const float* widened(const Stored<T>& from, std::vector<float>& copy, int64_t& leading) {
  if constexpr (std::is_same_v<T, float>) {
    leading = from.leading;
    return from.first;
  } else {
    leading = from.columns;
    copy.resize(std::max(copy.size(), static_cast<size_t>(from.rows * from.columns)));
    const bool dense = from.leading == from.columns;
    const int64_t rows = dense ? 1 : from.rows, columns = dense ? from.rows * from.columns : from.columns;
    for (int64_t row = 0; row < rows; ++row)
      widen_row(from.first + row * from.leading, copy.data() + row * columns, columns);
    return copy.data();
  }
}

void store(const float* from, int64_t rows, int64_t columns, int64_t leading, bool adds, Bf16* to) {
  static const TileFunction round = f32_to_bf16();
  for (int64_t row = 0; row < rows; ++row, from += columns, to += leading) {
    if (adds) {
      for (int64_t i = 0; i < columns; ++i) to[i] = Bf16(to[i] + from[i]);
      continue;
    }
    const auto* const start = reinterpret_cast<const std::byte*>(from);
    round(&start, reinterpret_cast<std::byte*>(to), columns);
  }
}

struct Blocks {
  std::vector<float> a, b, c;
  SizedProducts products;
};

// Computes the block of the result that begins at (row, column).
template <typename A, typename B, typename T>
void multiply_block(const MatrixProduct& p, const A* a, const B* b, T* c, int64_t row, int64_t rows,
                    int64_t column, int64_t columns) {
  constexpr bool kRounds = std::is_same_v<T, Bf16>;
  thread_local Blocks blocks;
  T* const to = c + row * p.c_leading + column;
  if constexpr (kRounds) blocks.c.resize(std::max(blocks.c.size(), static_cast<size_t>(rows * columns)));
  for (int64_t begin = 0; begin < std::max<int64_t>(p.k, 1); begin += kInnerBlock) {
    const int64_t count = std::min(kInnerBlock, p.k - begin);
    MatrixProduct product{.m = rows,
                          .n = columns,
                          .k = count,
                          .a_transposed = p.a_transposed,
                          .b_transposed = p.b_transposed,
                          .c_leading = kRounds ? columns : p.c_leading,
                          .adds = begin > 0 || (p.adds && !kRounds)};
    const float* const left =
        widened(part(a, p.a_transposed, p.a_leading, row, rows, begin, count), blocks.a, product.a_leading);
    const float* const right = widened(part(b, p.b_transposed, p.b_leading, begin, count, column, columns),
                                       blocks.b, product.b_leading);
    if constexpr (kRounds)
      blocks.products.multiply(product, left, right, blocks.c.data());
    else
      blocks.products.multiply(product, left, right, to);
  }
  if constexpr (kRounds) store(blocks.c.data(), rows, columns, p.c_leading, p.adds, to);
}

int64_t pieces(int64_t size, int64_t block) {
  return (size + block - 1) / block;
}

}  // namespace

template <typename A, typename B, typename T>
void multiply_widened(const MatrixProduct& p, const A* a, const B* b, T* c) {
  if constexpr (std::is_same_v<A, float>)
    if (const ThinProduct rows = few_rows(p); !p.adds && is_thin(rows)) return multiply_thin(rows, a, b, c);
  if constexpr (std::is_same_v<B, float>)
    if (const ThinProduct columns = few_columns(p); !p.adds && is_thin(columns))
      return multiply_thin(columns, b, a, c);
  // Threads share the blocks, so there should be some for each.
  const int64_t threads = thread_count();
  int64_t rows = std::min(kBlock, p.m), columns = std::min(kBlock, p.n);
  while (threads > 1 && pieces(p.m, rows) * pieces(p.n, columns) < 2 * threads &&
         std::max(rows, columns) >= 2 * kSmallestBlock)
    (rows >= columns ? rows : columns) /= 2;
  const int64_t down = pieces(p.m, rows), across = pieces(p.n, columns);
  const auto block = [&](int64_t i) {
    const int64_t row = i / across * rows, column = i % across * columns;
    multiply_block(p, a, b, c, row, std::min(rows, p.m - row), column, std::min(columns, p.n - column));
  };
  if (p.m * p.n * p.k < kParallelWork) {
    for (int64_t i = 0; i < down * across; ++i) block(i);
    return;
  }
  parallel_items(down * across, block);
}

template void multiply_widened(const MatrixProduct&, const Bf16*, const Bf16*, float*);
template void multiply_widened(const MatrixProduct&, const Bf16*, const Bf16*, Bf16*);
template void multiply_widened(const MatrixProduct&, const float*, const Bf16*, float*);
template void multiply_widened(const MatrixProduct&, const Bf16*, const float*, float*);
template void multiply_widened(const MatrixProduct&, const float*, const int8_t*, float*);
template void multiply_widened(const MatrixProduct&, const int8_t*, const float*, float*);

}  // namespace mtfc
