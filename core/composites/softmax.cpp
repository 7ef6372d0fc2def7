#include "core/op_rules/example.h"
#include "core/op_rules/softmax_rules.h"

namespace mtfc::softmax_composite {
namespace {

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const SoftmaxParts parts = softmax_parts(b, node.operands[0], node.attributes.get<Dims>("over"));
  return {b.op("mul", {parts.exponentials, b.op("reciprocal", {parts.sum})})};
}

// Uses the result alone, so neither the exponentials nor their sum need be kept.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId result = node.results[0];
  const TensorId product = b.op("mul", {gradients[0], result});
  const TensorId sum = b.op("reduce_sum", {product}, {{"over", node.attributes.get<Dims>("over")}});
  return {b.op("sub", {product, b.op("mul", {result, sum})})};
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "softmax",
            .doc = "exp(x) divided by its sum over the given dimensions.",
            .attributes = {kSoftmaxOver},
            .infer = infer_softmax,
            .examples = softmax_examples(),
            .worked = {worked({known("classes=2", {3, 3})}, {{"over", dims_of("classes=2")}}, {{0.5, 0.5}})},
        },
    .expand = expand,
    .gradient = gradient,
    .in_f32 = true,
    .reads_logits = true,
    .gives_distribution = true,
};

}  // namespace mtfc::softmax_composite
