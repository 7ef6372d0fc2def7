#include "core/op_rules/elementwise.h"

namespace mtfc::mul_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor, kNoTensor};
  return {gradient_of(b, node.operands[0], b.op("mul", {gradients[0], node.operands[1]})),
          gradient_of(b, node.operands[1], b.op("mul", {gradients[0], node.operands[0]}))};
}

}  // namespace

extern const OpDef kOp = number_binary({
    .name = "mul",
    .doc = "The product of two operands, element by element.",
    .linear_in = {{0}, {1}},
    .gradient = gradient,
    .traits = {.neutral = {{.value = 1, .on_either_side = true}}, .multiplies = true},
});

}  // namespace mtfc::mul_op
