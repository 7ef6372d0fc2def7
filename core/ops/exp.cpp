#include "core/op_rules/elementwise.h"

namespace mtfc::exp_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("mul", {gradients[0], node.results[0]})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "exp",
    .doc = "e to the power of each element.",
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::exp_op
