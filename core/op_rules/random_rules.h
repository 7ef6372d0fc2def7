#pragma once
// Operations that draw random numbers: what they share in core/ops/.
//
// The numbers are a function of the seed, the step, the name of the result and the global index of each
// element, so that they do not depend on the layout. With an operand, an i32 scalar p, and the attribute
// `interleaved`, a dimension d of size n, the result is one of n / (its own size of d) parts of a tensor in
// which d has size n: row i of the part is row i * parts + p of that tensor, and has its numbers (see
// core/model/microbatches.h).

#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kRandomDims = {"dims", AttributeType::kDims, true,
                                              "the dimensions of the result"};
inline constexpr AttributeSpec kRandomDType = {"dtype", AttributeType::kDType, false,
                                               "f32 unless stated, or f64"};

inline constexpr AttributeSpec kRandomInterleaved = {"interleaved", AttributeType::kDim, false,
                                                     "the dimension as it is in the tensor this is a part of",
                                                     true};

std::vector<TensorType> infer_random(const OpCall& call);

}  // namespace mtfc
