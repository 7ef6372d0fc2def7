#pragma once
// Reduction of several buffers into one result that is written to several places: what a collective inside a
// node does with its share of the elements.
//
//   inputs   a0 a1 a2 ..     outputs   c0 c1 c2 ..      c = kind(kind(a, b), ...): in order of inputs, so
//   that
//            b0 b1 b2 ..               c0 c1 c2 ..      it is the same every time

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// Of `count` elements. An output may be one of the inputs; other overlaps are not allowed. Max and min give
/// NaN where any input is NaN; on bool they are or and and.
using ReduceAcross = void (*)(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                              int64_t count);

/// Compiled for this machine's vectors. Throws InternalError for sums and products of bool.
ReduceAcross reduce_across(ReduceKind kind, DType dtype);

}  // namespace mtfc
