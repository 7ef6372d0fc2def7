#include "core/op_rules/elementwise.h"

namespace mtfc::neg_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {gradient_of(b, node.operands[0], b.op("neg", {gradients[0]}))};
}

}  // namespace

extern const OpDef kOp = number_unary({
    .name = "neg",
    .doc = "The negative of each element.",
    .linear_in = {{0}},
    .gradient = gradient,
});

}  // namespace mtfc::neg_op
