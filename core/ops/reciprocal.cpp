#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::reciprocal_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("neg", {b.op("mul", {gradients[0], b.op("square", {node.results[0]})})})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "reciprocal",
    .doc = "1 divided by each element.",
    .examples = unary_examples(positive),
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::reciprocal_op
