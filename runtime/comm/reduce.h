#pragma once
// Element-wise combination of two buffers, as reductions over devices need it.

#include <cstddef>
#include <cstdint>

#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// result[i] = kind(result[i], operand[i]) for `count` elements. Max and min give NaN where either is NaN,
/// whatever the order; on bool they are or and and. Sum and product of bool are an InternalError.
void combine(ReduceKind kind, DType dtype, const std::byte* operand, std::byte* result, int64_t count);

}  // namespace mtfc
