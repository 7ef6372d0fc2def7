#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::mul_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor, kNoTensor};
  return {gradient_of(b, node.operands[0], b.op("mul", {gradients[0], node.operands[1]})),
          gradient_of(b, node.operands[1], b.op("mul", {gradients[0], node.operands[0]}))};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "mul",
            .doc = "The product of two operands, element by element.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kResultOrder},
            .infer = infer_number_binary,
            .examples = aligned_number_examples(),
        },
    .family = Family::kElementwise,
    .roles = pass_factors,
    .linear_in = {{0}, {1}},
    .gradient = gradient,
    .flops = result_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {.neutral = {{.value = 1, .on_either_side = true}}, .multiplies = true},
};

}  // namespace mtfc::mul_op
