#include "core/op_rules/elementwise.h"

namespace mtfc::sub_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId minuend = gradient_of(b, node.operands[0], gradients[0]);
  const TensorId reduced = gradient_of(b, node.operands[1], gradients[0]);
  return {minuend, reduced == kNoTensor ? kNoTensor : b.op("neg", {reduced})};
}

}  // namespace

extern const OpDef kOp = number_binary({
    .name = "sub",
    .doc = "The first operand minus the second, element by element.",
    .linear_in = {{0, 1}},
    .gradient = gradient,
    .traits = {.neutral = {{.value = 0, .on_either_side = false}}},
});

}  // namespace mtfc::sub_op
