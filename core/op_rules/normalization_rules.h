#pragma once
// Rules shared by layer_norm and rms_norm in core/composites/.
//
// Both only normalize; a model adds scale and bias by operations of its own. Both expand to means of the
// values and of their squares, so a split dimension costs all_reduces of sums, and nothing is gathered.

#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kNormalizedOver = {"over", AttributeType::kOver, true,
                                                  "the dimensions over which the elements are normalized"};

/// The type of the one operand, a float. Throws OpError for any other operand and for a negative `eps`.
std::vector<TensorType> infer_normalization(const OpCall& call);

/// 1 / sqrt(mean(square(x)) + eps), with the mean over the attribute `over` of `node`, and its `eps` if it has one.
TensorId inverse_root_mean_square(GraphBuilder& b, const Node& node, TensorId x, double default_eps);

/// The gradient of x in y = d * scale, where d is x, or with `centred` x minus its mean, and `scale` is the inverse
/// root mean square of d: scale * (g - mean(g) - y * mean(g * y)), without mean(g) unless centred. Of the tensors of
/// x's size it reads y alone, so that x need not be kept.
TensorId normalization_gradient(GraphBuilder& b, const Node& node, TensorId scale, TensorId gradient,
                                bool centred);

/// Several uses, some of them with `eps`.
std::vector<Example> normalization_examples();

}  // namespace mtfc
