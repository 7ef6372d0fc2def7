#pragma once
// Operations that can run along a split dimension part by part: rules shared by core/ops/ and
// runtime/kernels/.
//
// With the attribute `parts`, a dimension of size P, such an operation treats each part [floor(p*n/P),
// floor((p+1)*n/P)) of its dimension of size n separately, and a result has one element along `parts` for
// each. Where the number of shards divides P, no part crosses the bound of a shard: a device that holds a
// shard of `dim` holds the elements that belong to the same shard of `parts`, so both dimensions form one
// kPass factor. They can't be split into a number of shards that does not divide P (Factor::parts).
// Example: 5 rows in 4 parts over p:2. The first device holds rows 0 and 1, which are parts 0 and 1; the
// other one holds row 2, which is part 2, and rows 3 and 4, which are part 3.

#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kParts = {"parts", AttributeType::kDim, false,
                                         "the parts that are taken by themselves; set by the compiler where "
                                         "`dim` is split, not by models",
                                         true};

/// The dimension that counts `parts` parts. Names containing @ are reserved: no model dimension can clash.
Dim parts_dim(int64_t parts);

/// The factor that joins the dimensions `dim` and `parts` of a call that has the attribute `parts`.
Factor parts_factor(const OpCall& call, std::span<const TensorType> results);

/// Spreads `per_part`[parts, ...] to every element of `dim`: each gets the value of the part that it is in.
TensorId spread_parts(GraphBuilder& b, TensorId per_part, const Dim& dim, const Dim& parts);

/// The offsets within a shard of `dim` at which the device's parts begin, and the end of the last one. The
/// shard is `held`; its parts are `held_parts`.
std::vector<int64_t> part_bounds(int64_t size, int64_t parts, const Interval& held,
                                 const Interval& held_parts);

}  // namespace mtfc
