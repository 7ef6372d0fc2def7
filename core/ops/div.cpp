#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::div_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId quotient = b.op("div", {gradients[0], node.operands[1]});
  const TensorId product = b.op("mul", {quotient, node.results[0]});
  return {gradient_of(b, node.operands[0], quotient),
          gradient_of(b, node.operands[1], b.op("neg", {product}))};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "div",
            .doc = "The first operand divided by the second, element by element.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kResultOrder},
            .infer = infer_float_binary,
            .examples = aligned_examples(normal, positive),
        },
    .family = Family::kElementwise,
    .roles = pass_factors,
    .linear_in = {{0}},
    .gradient = gradient,
    .flops = result_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {.neutral = {{.value = 1, .on_either_side = false}}, .own_pace = true},
};

}  // namespace mtfc::div_op
