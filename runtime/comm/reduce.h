#pragma once
// Element-wise combination of two buffers, for reductions over devices.

#include <cstddef>
#include <cstdint>

#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// result[i] = kind(result[i], operand[i]) for `count` elements. Max and min give NaN if either operand is
/// NaN, in any order; on bool they are `or` and `and`. Throws InternalError for sums and products of bool.
void combine(ReduceKind kind, DType dtype, const std::byte* operand, std::byte* result, int64_t count);
/// The same with bf16 operands and f32 results, so that several operands can be combined and rounded once.
void combine_in_f32(ReduceKind kind, const std::byte* bf16, std::byte* f32, int64_t count);

}  // namespace mtfc
