#pragma once
// Rules shared by the operations that draw random numbers.
//
// Each number is a function of the seed, the step, the name of the result (or the attribute `key`) and the global index
// of its element, so it does not depend on the layout. With the attribute `interleaved` (a dimension d of size n)
// and an operand (an i32 scalar p), the result is microbatch p of a tensor in which d has size n
// (core/rewrite/cut_batch.h). If d has size s in the result, row i has the numbers of row i * (n/s) + p of
// that tensor.

#include <string_view>

#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kRandomInterleaved = {"interleaved", AttributeType::kDim, false,
                                                     "the dimension as it is in the tensor this is a part of",
                                                     true};

/// An operation that draws its numbers from the distribution that `doc` names.
OpDef random_numbers(std::string_view name, std::string_view doc);

}  // namespace mtfc
