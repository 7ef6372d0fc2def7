#pragma once
// Rules shared by gather and scatter_add in core/ops/.
//
// Both read indices that count along one dimension of a table. A dimension that table and indices share is a
// batch dimension. The indexed dimension is an exception: if the indices have one of its name too (a
// permutation does), the two are different dimensions.

#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kIndexedDim = {"dim", AttributeType::kDim, true,
                                              "the dimension of the table that the indices count along"};

/// Throws OpError if operand 1 does not hold indices.
void require_indices(const OpCall& call);
/// Position of the dimension `name` in a table's dimensions, or -1. The dimension `indexed` counts as absent,
/// since the indices' dimension of that name is a different one.
int batch_position(const Dims& table, std::string_view name, std::string_view indexed);

}  // namespace mtfc
