#include "core/op_rules/elementwise.h"

namespace mtfc::abs_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  return {b.op("mul", {gradients[0], b.op("sign", {node.operands[0]})})};
}

}  // namespace

extern const OpDef kOp = number_unary({
    .name = "abs",
    .doc = "The absolute value of each element.",
    .gradient = gradient,
});

}  // namespace mtfc::abs_op
