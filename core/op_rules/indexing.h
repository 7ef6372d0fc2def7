#pragma once
// Rules shared by the operations of core/ops/ that read or write a table at indices: gather, scatter_add and
// gather_dot, which are each other's gradients, and count_before.
//
// The indices count along one dimension of a table. A dimension that table and indices share is a batch
// dimension. The indexed dimension is an exception: if the indices have one of its name too (a permutation
// does), the two are different dimensions. An index picks a slice: the table's other dimensions.

#include "core/graph/op_def.h"
#include "core/tensors/shape.h"

namespace mtfc {

inline constexpr AttributeSpec kIndexedDim = {"dim", AttributeType::kDim, true,
                                              "the dimension of the table that the indices count along"};
inline constexpr AttributeSpec kSkipOutside = {
    "skip_outside", AttributeType::kFlag, false,
    "whether an index outside of `dim`, such as -1, is skipped, as if zeros were there; by default it ends "
    "the run with an error"};

/// Throws OpError if operand `at` does not hold indices.
void require_indices(const OpCall& call, int at = 1);
/// Throws OpError if operand 0 is bool.
void require_numbers_in_table(const OpCall& call);
/// Throws OpError if there is an operand 2, and it does not have the dimensions of the indices in operand 1.
void require_weights(const OpCall& call);
/// The dimensions of a slice: those of a table without the indexed one and those of the indices.
template <DimList List>
List slice_dims(const List& table, const List& indices, std::string_view indexed) {
  List slice;
  for (const auto& own : table)
    if (own.name != indexed && !contains(indices, own.name)) slice.push_back(own);
  return slice;
}
/// The number of elements of all slices that a device's shard of the indices picks.
int64_t picked_elements(const LocalType& table, const LocalType& indices, const Attributes& attributes);
/// Position of the dimension `name` in a table's dimensions, or -1. The dimension `indexed` counts as absent,
/// since the indices' dimension of that name is a different one.
int batch_position(const Dims& table, std::string_view name, std::string_view indexed);
/// The attributes of a gradient of an operation with the attributes `from`: the indexed dimension, and whether
/// indices outside of it are skipped.
Attributes indexed_like(const Attributes& from);

/// For examples: one that has weights as operand 2, and one that skips indices outside.
Example weighted(Example example);
Example skipping(Example example);

}  // namespace mtfc
