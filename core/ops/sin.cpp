#include "core/op_rules/elementwise.h"

namespace mtfc::sin_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("mul", {gradients[0], b.op("cos", {node.operands[0]})})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "sin",
    .doc = "The sine of each element.",
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::sin_op
