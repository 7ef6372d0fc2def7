#pragma once
// Rules shared by the softmax family in core/composites/.
//
// All expand so that a split dimension costs all_reduces of the maximum and of the sum, and nothing is
// gathered. With m = max(x), z = x - m and s = sum(exp(z)), softmax is exp(z) * (1/s) and log_softmax is z -
// log(s). The maximum only keeps exp in range, so no gradient flows through it.

#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kSoftmaxOver = {"over", AttributeType::kOver, true,
                                               "the dimensions over which the result is normalized"};

/// Throws OpError if `over` does not fit operand 0, the logits.
void require_logits(const OpCall& call);
/// The type of the one operand. Throws OpError if `over` does not fit it.
std::vector<TensorType> infer_softmax(const OpCall& call);

struct SoftmaxParts {
  TensorId largest;       // m
  TensorId shifted;       // z
  TensorId exponentials;  // exp(z)
  TensorId sum;           // s
};
SoftmaxParts softmax_parts(GraphBuilder& b, TensorId logits, const Dims& over);

std::vector<Example> softmax_examples();

}  // namespace mtfc
