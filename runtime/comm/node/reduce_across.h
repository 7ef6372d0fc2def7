#pragma once
// Reduces several buffers into one result that is written to several places: the work of a collective inside
// a node on its share of the elements.
//
//   inputs   a0 a1 a2 ..     outputs   c0 c1 c2 ..
//            b0 b1 b2 ..               c0 c1 c2 ..
//
// Here c = kind(kind(a, b), ...): inputs are combined in their order, so the result is always the same.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// Reduces `count` elements. An output may be one of the inputs; other overlaps are not allowed. Max and min
/// give NaN if any input is NaN; on bool they are `or` and `and`.
using ReduceAcross = void (*)(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                              int64_t count);

/// The function for this machine's vectors. Throws InternalError for sums and products of bool.
ReduceAcross reduce_across(ReduceKind kind, DType dtype);

}  // namespace mtfc
