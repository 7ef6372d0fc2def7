#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::div_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId quotient = b.op("div", {gradients[0], node.operands[1]});
  const TensorId product = b.op("mul", {quotient, node.results[0]});
  return {gradient_of(b, node.operands[0], quotient),
          gradient_of(b, node.operands[1], b.op("neg", {product}))};
}

}  // namespace

extern const OpDef kOp = float_binary({
    .name = "div",
    .doc = "The first operand divided by the second, element by element.",
    .examples = aligned_examples(normal, positive),
    .linear_in = {{0}},
    .gradient = gradient,
    .traits = {.neutral = {{.value = 1, .on_either_side = false}}, .own_pace = true},
});

}  // namespace mtfc::div_op
