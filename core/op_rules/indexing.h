#pragma once
// gather and scatter_add: what they share in core/ops/.
//
// Both read indices that count along one dimension of a table. A dimension that table and indices share is a
// batch dimension, except the one indexed: where the indices have it too (a permutation), theirs is another
// one.

#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kIndexedDim = {"dim", AttributeType::kDim, true,
                                              "the dimension of the table that the indices count along"};

/// Throws OpError where operand 1 holds no indices.
void require_indices(const OpCall& call);
/// Position of the dimension `name` in a table's dimensions, or -1; the dimension `indexed` counts as absent,
/// for the indices' own dimension of that name is another one.
int batch_position(const Dims& table, std::string_view name, std::string_view indexed);

}  // namespace mtfc
