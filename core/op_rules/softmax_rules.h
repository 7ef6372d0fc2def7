#pragma once
// The softmax family: what its members share in core/composites/.
//
// All are expanded so that a dimension that is split needs all_reduces of the maximum and of the sum, and
// nothing is gathered: with m = max(x), z = x - m, s = sum(exp(z)): softmax = exp(z) * (1/s), log_softmax = z
// - log(s). The maximum only keeps exp in range, so no gradient flows through it.

#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kSoftmaxOver = {"over", AttributeType::kOver, true,
                                               "the dimensions over which the result is normalized"};

/// Throws OpError where `over` does not fit operand 0, the logits.
void require_logits(const OpCall& call);
/// Type of the one operand. Throws OpError.
std::vector<TensorType> infer_softmax(const OpCall& call);

struct SoftmaxParts {
  TensorId largest;       // m
  TensorId shifted;       // z
  TensorId exponentials;  // exp(z)
  TensorId sum;           // of those over `over`
};
SoftmaxParts softmax_parts(GraphBuilder& b, TensorId logits, const Dims& over);

}  // namespace mtfc
