#pragma once
// Operations that run along a split dimension part by part: what they share in core/ops/ and
// runtime/kernels/.
//
// With the attribute `parts`, a dimension of size P, such an operation takes the parts
// [floor(p*n/P), floor((p+1)*n/P)) of its dimension of size n by themselves, and a result has an element
// along `parts` for each. These are the bounds of shards, too: a device that holds a shard of the one
// dimension holds what belongs to the same shard of the other, so that both are one kPass factor.
// Example: 5 rows in 4 parts over p:2. The first device holds rows 0 and 1, which are parts 0 and 1, the
// other one row 2, which is part 2, and rows 3 and 4, which are part 3.

#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kParts = {"parts", AttributeType::kDim, false,
                                         "the parts that are taken by themselves; set by the compiler where "
                                         "`dim` is split, not by models",
                                         true};

/// The dimension that counts `parts` parts. Like every name with an @, no dimension of a model can have its.
Dim parts_dim(int64_t parts);

/// The factor of a call with `parts` that the dimension `dim` of its operands is in together with the parts.
Factor parts_factor(const OpCall& call, std::span<const TensorType> results);

/// `per_part`[parts, ...] for every element of `dim`: that of the part it is in.
TensorId spread_parts(GraphBuilder& b, TensorId per_part, const Dim& dim, const Dim& parts);

/// Where the parts that a device holds begin in its shard of `dim`, which is `held`, and the end of the last.
std::vector<int64_t> part_bounds(int64_t size, int64_t parts, const Interval& held,
                                 const Interval& held_parts);

}  // namespace mtfc
