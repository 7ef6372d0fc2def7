#include "core/op_rules/softmax_rules.h"

namespace mtfc::log_softmax_composite {
namespace {

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const SoftmaxParts parts = softmax_parts(b, node.operands[0], node.attributes.get<Dims>("over"));
  return {b.op("sub", {parts.shifted, b.op("log", {parts.sum})})};
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "log_softmax",
            .doc = "The logarithm of softmax, computed without loss of accuracy.",
            .attributes = {kSoftmaxOver},
            .infer = infer_softmax,
            .examples = softmax_examples(),
        },
    .expand = expand,
    .in_f32 = true,
    .reads_logits = true,
};

}  // namespace mtfc::log_softmax_composite
