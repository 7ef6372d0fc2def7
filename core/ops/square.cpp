#include "core/op_rules/elementwise.h"

namespace mtfc::square_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  const TensorId two = b.constant(2, b.type(node.operands[0]).dtype);
  return {b.op("mul", {gradients[0], b.op("mul", {node.operands[0], two})})};
}

}  // namespace

extern const OpDef kOp = number_unary({
    .name = "square",
    .doc = "Each element times itself.",
    .gradient = gradient,
});

}  // namespace mtfc::square_op
