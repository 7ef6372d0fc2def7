#pragma once
// Reductions of consecutive elements into accumulators that stay open, for kernels that work through a tensor
// tile by tile.

#include <cstddef>
#include <cstdint>

#include "runtime/compute/kernel.h"

namespace mtfc {

/// `sums` are accumulators of `accumulator_bytes` each (f64 for sums and products of floats).
struct TileReduction {
  int64_t accumulator_bytes = 0;
  void (*begin)(std::byte* sums, int64_t count) = nullptr;
  /// Adds each row of [rows, columns] to the accumulator of that row.
  void (*add_rows)(const std::byte* elements, int64_t rows, int64_t columns, std::byte* sums) = nullptr;
  /// Adds each column to the accumulator of that column.
  void (*add_columns)(const std::byte* elements, int64_t rows, int64_t columns, std::byte* sums) = nullptr;
  /// Adds `count` other accumulators to as many of these.
  void (*merge)(const std::byte* others, int64_t count, std::byte* sums) = nullptr;
  /// Converts accumulators to elements; `divisor` is the count of a mean, otherwise 1.
  void (*finish)(const std::byte* sums, int64_t count, double divisor, std::byte* results) = nullptr;
};

TileReduction tile_reduction(Reduction reduction, DType dtype);

}  // namespace mtfc
