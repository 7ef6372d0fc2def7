#include "runtime/compute/bf16_product.h"

#include <omp.h>

#include <algorithm>
#include <vector>

#include "runtime/compute/in_f32.h"
#include "runtime/compute/onednn.h"
#include "runtime/compute/parallel.h"

namespace mtfc {
namespace {

// The sides of a block of the result, and the length of a block of the contracted dimension: up to 5 MB of f32 in all.
constexpr int64_t kBlock = 512, kSmallestBlock = 64, kInnerBlock = 1024;

// Part of a matrix as it is stored: `rows` rows of `columns` elements, `leading` apart.
struct Stored {
  const Bf16* first;
  int64_t rows, columns, leading;
};

// Rows [row, row + rows) and columns [column, column + columns) of a matrix, which is stored columns first if `transposed`.
Stored part(const Bf16* matrix, bool transposed, int64_t leading, int64_t row, int64_t rows, int64_t column,
            int64_t columns) {
  if (transposed) return {matrix + column * leading + row, columns, rows, leading};
  return {matrix + row * leading + column, rows, columns, leading};
}

void widen(const Stored& from, float* to) {
  static const TileFunction convert = bf16_to_f32();
  const bool dense = from.leading == from.columns;
  const int64_t rows = dense ? 1 : from.rows, columns = dense ? from.rows * from.columns : from.columns;
  for (int64_t row = 0; row < rows; ++row) {
    const auto* const start = reinterpret_cast<const std::byte*>(from.first + row * from.leading);
    convert(&start, reinterpret_cast<std::byte*>(to + row * columns), columns);
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
template <typename T>
void multiply_block(const MatrixProduct& p, const Bf16* a, const Bf16* b, T* c, int64_t row, int64_t rows,
                    int64_t column, int64_t columns) {
  constexpr bool kRounds = std::is_same_v<T, Bf16>;
  thread_local Blocks blocks;
  const int64_t inner = std::min(p.k, kInnerBlock);
  blocks.a.resize(std::max(blocks.a.size(), static_cast<size_t>(rows * inner)));
  blocks.b.resize(std::max(blocks.b.size(), static_cast<size_t>(inner * columns)));
  T* const to = c + row * p.c_leading + column;
  if constexpr (kRounds) blocks.c.resize(std::max(blocks.c.size(), static_cast<size_t>(rows * columns)));
  for (int64_t begin = 0; begin < std::max<int64_t>(p.k, 1); begin += kInnerBlock) {
    const int64_t count = std::min(kInnerBlock, p.k - begin);
    widen(part(a, p.a_transposed, p.a_leading, row, rows, begin, count), blocks.a.data());
    widen(part(b, p.b_transposed, p.b_leading, begin, count, column, columns), blocks.b.data());
    const MatrixProduct product{.m = rows,
                                .n = columns,
                                .k = count,
                                .a_transposed = p.a_transposed,
                                .b_transposed = p.b_transposed,
                                .a_leading = p.a_transposed ? rows : count,
                                .b_leading = p.b_transposed ? count : columns,
                                .c_leading = kRounds ? columns : p.c_leading,
                                .adds = begin > 0 || (p.adds && !kRounds)};
    if constexpr (kRounds)
      blocks.products.multiply(product, blocks.a.data(), blocks.b.data(), blocks.c.data());
    else
      blocks.products.multiply(product, blocks.a.data(), blocks.b.data(), to);
  }
  if constexpr (kRounds) store(blocks.c.data(), rows, columns, p.c_leading, p.adds, to);
}

int64_t pieces(int64_t size, int64_t block) {
  return (size + block - 1) / block;
}

}  // namespace

template <typename T>
void multiply_bf16(const MatrixProduct& p, const Bf16* a, const Bf16* b, T* c) {
  // Threads share the blocks, so there should be some for each.
  const int64_t threads = omp_in_parallel() ? 1 : omp_get_max_threads();
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

template void multiply_bf16(const MatrixProduct&, const Bf16*, const Bf16*, float*);
template void multiply_bf16(const MatrixProduct&, const Bf16*, const Bf16*, Bf16*);

}  // namespace mtfc
