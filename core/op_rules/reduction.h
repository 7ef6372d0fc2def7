#pragma once
// Rules shared by the reductions.
//
// `over` lists the dimensions to remove, or `dims` those to keep, in the wanted order; with neither, all are
// removed. A removed dimension that is split leaves a partial value of the reduction's kind. Example:
// reduce_sum(x[batch/rows, hidden], over batch) is [hidden, sum over rows].

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op_def.h"
#include "core/op_rules/family.h"

namespace mtfc {

inline constexpr AttributeSpec kReductionOver = {"over", AttributeType::kOver, false,
                                                 "the dimensions to remove; default: all of them"};
inline constexpr AttributeSpec kReductionDims = {"dims", AttributeType::kOver, false,
                                                 "the dimensions to keep, instead of `over`"};

/// `kind`: of the partial values that devices hold of a split dimension. The member's examples are added to those of
/// the family.
OpDef reduction(ReduceKind kind, FamilyMember member);

/// The result has the operand's dtype. They throw OpError for wrong dimensions and for an operand that is no
/// number, no float, or no bool, respectively.
std::vector<TensorType> infer_number_reduction(const OpCall& call);
std::vector<TensorType> infer_float_reduction(const OpCall& call);
std::vector<TensorType> infer_bool_reduction(const OpCall& call);

/// The gradient of reduce_max and reduce_min. Elements that tie share it equally.
std::vector<TensorId> extremum_gradient(GraphBuilder& b, const Node& node,
                                        std::span<const TensorId> gradients);

}  // namespace mtfc
