#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::relu_op {
namespace {

// No gradient passes where the result is 0. The operand would tell as much, but it would have to be kept.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  const TensorId zero = b.constant(0, b.type(node.operands[0]).dtype);
  const TensorId off = b.op("greater_equal", {zero, node.results[0]});
  return {b.op("where", {off, zero, gradients[0]})};
}

}  // namespace

extern const OpDef kOp = number_unary({
    .name = "relu",
    .doc = "Each element, or 0 if it is negative.",
    .worked = {worked({known("batch=5", {-2, -0.5, 0, 0.25, 3})}, {}, {{0, 0, 0, 0.25, 3}})},
    .gradient = gradient,
});

}  // namespace mtfc::relu_op
