#pragma once
// layer_norm and rms_norm: what they share in core/composites/.
//
// They only normalize; a scale or a bias is an operation of the model. Both are expanded to means of the
// values and of their squares, so that a split dimension needs all_reduces of sums, and nothing is gathered.

#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kNormalizedOver = {"over", AttributeType::kOver, true,
                                                  "the dimensions over which the elements are normalized"};

/// Type of the one operand, a float. Throws OpError, also where `eps` is negative.
std::vector<TensorType> infer_normalization(const OpCall& call);

/// x / sqrt(mean(square(x)) + eps), with the mean over `over` and `eps` of `node`, unless it is absent.
TensorId scaled_by_root_mean_square(GraphBuilder& b, const Node& node, TensorId x, double default_eps);

/// Several uses, some with `eps`.
std::vector<Example> normalization_examples();

}  // namespace mtfc
