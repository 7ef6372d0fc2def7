#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::sqrt_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId half = b.constant(0.5, b.type(node.results[0]).dtype);
  return {b.op("div", {b.op("mul", {gradients[0], half}), node.results[0]})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "sqrt",
    .doc = "The square root of each element.",
    .examples = unary_examples(positive),
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::sqrt_op
