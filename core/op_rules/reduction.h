#pragma once
// Reductions: what they share in core/ops/.
//
// `over` lists the dimensions removed, or `dims` those kept, in the order wanted; with neither, all are
// removed. A removed dimension that is split leaves a partial value of the reduction's own kind.

#include "core/graph/graph.h"
#include "core/graph/op_def.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc {

inline constexpr AttributeSpec kReductionOver = {"over", AttributeType::kOver, false,
                                                 "the dimensions removed; all of them unless stated"};
inline constexpr AttributeSpec kReductionDims = {"dims", AttributeType::kOver, false,
                                                 "the dimensions kept, instead of `over`"};

/// Result of one operand's dtype. Throws OpError for wrong dimensions, and for an operand that is bool, no
/// float or no bool.
std::vector<TensorType> infer_number_reduction(const OpCall& call);
std::vector<TensorType> infer_float_reduction(const OpCall& call);
std::vector<TensorType> infer_bool_reduction(const OpCall& call);

std::vector<Factor> reduction_factors(const OpCall& call, std::span<const TensorType> results,
                                      ReduceKind kind);
template <ReduceKind kind>
std::vector<Factor> reduction_factors(const OpCall& call, std::span<const TensorType> results) {
  return reduction_factors(call, results, kind);
}

/// Of reduce_max and reduce_min: elements that tie share the gradient equally.
std::vector<TensorId> extremum_gradient(GraphBuilder& b, const Node& node,
                                        std::span<const TensorId> gradients);

}  // namespace mtfc
