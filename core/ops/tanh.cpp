#include "core/op_rules/elementwise.h"

namespace mtfc::tanh_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId one = b.constant(1, b.type(node.results[0]).dtype);
  return {b.op("mul", {gradients[0], b.op("sub", {one, b.op("square", {node.results[0]})})})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "tanh",
    .doc = "The hyperbolic tangent of each element.",
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::tanh_op
