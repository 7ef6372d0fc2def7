#include "core/op_rules/elementwise.h"

namespace mtfc::silu_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType dtype = b.type(node.results[0]).dtype;
  const TensorId sigmoid = b.op("sigmoid", {node.operands[0]});
  const TensorId rest = b.op("sub", {b.constant(1, dtype), sigmoid});
  return {b.op("mul", {gradients[0], b.op("add", {sigmoid, b.op("mul", {node.results[0], rest})})})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "silu",
    .doc = "Each element times its sigmoid.",
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::silu_op
