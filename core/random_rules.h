#pragma once
// Operations that draw random numbers: what they share in core/ops/.
//
// The numbers are a function of the seed, the step, the name of the result and the global index of each
// element, so that they do not depend on the layout.

#include "core/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kRandomDims = {"dims", AttributeType::kDims, true,
                                              "the dimensions of the result"};
inline constexpr AttributeSpec kRandomDType = {"dtype", AttributeType::kDType, false,
                                               "f32 unless stated, or f64"};

std::vector<TensorType> infer_random(const OpCall& call);

}  // namespace mtfc
