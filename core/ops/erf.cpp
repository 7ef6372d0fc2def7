#include <numbers>

#include "core/op_rules/elementwise.h"

namespace mtfc::erf_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType dtype = b.type(node.results[0]).dtype;
  const TensorId bell = b.op("exp", {b.op("neg", {b.op("square", {node.operands[0]})})});
  const TensorId slope = b.op("mul", {bell, b.constant(2 * std::numbers::inv_sqrtpi, dtype)});
  return {b.op("mul", {gradients[0], slope})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "erf",
    .doc = "The error function of each element.",
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::erf_op
