#include "core/op_rules/elementwise.h"

namespace mtfc::sigmoid_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType dtype = b.type(node.results[0]).dtype;
  const TensorId rest = b.op("sub", {b.constant(1, dtype), node.results[0]});
  return {b.op("mul", {gradients[0], b.op("mul", {node.results[0], rest})})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "sigmoid",
    .doc = "1 / (1 + exp(-x)) of each element.",
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::sigmoid_op
