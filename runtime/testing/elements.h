#pragma once
// Elements of tensors in raw memory, one at a time and as numbers: how tests fill and read shards.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// Element `index` of a row-major array at `data`, as a number.
double load_element(const std::byte* data, DType dtype, int64_t index);
void store_element(std::byte* data, DType dtype, int64_t index, double value);

/// Row-major positions in the global tensor of the elements of `box`, in the box's own order.
std::vector<int64_t> global_indices(const Dims& dims, const Box& box);

}  // namespace mtfc
