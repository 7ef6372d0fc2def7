#pragma once
// Drawings of tensors as matrices of shards, for the HTML report.

#include <string>

#include "core/cost/cost.h"

namespace mtfc {

/// Draws each tensor as a matrix cut into its shards, with the ranks that hold them (Mesh-TensorFlow,
/// appendix A). Tensors of the same dimensions and sharding are drawn once; long sides are shortened in the
/// middle.
std::string tensor_drawings(const CostReport& report);

}  // namespace mtfc
