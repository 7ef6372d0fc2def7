#include "core/op_rules/elementwise.h"

namespace mtfc::cos_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("neg", {b.op("mul", {gradients[0], b.op("sin", {node.operands[0]})})})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "cos",
    .doc = "The cosine of each element.",
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::cos_op
