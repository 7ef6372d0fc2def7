#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::square_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  const TensorId two = b.constant(2, b.type(node.operands[0]).dtype);
  return {b.op("mul", {gradients[0], b.op("mul", {node.operands[0], two})})};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "square",
            .doc = "Each element times itself.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {},
            .infer = infer_number_unary,
            .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {}},
                         {.operands = {normal("")}, .attributes = {}},
                         {.operands = {steps("batch=5 hidden=7", DType::kI32)}, .attributes = {}}},
        },
    .family = Family::kElementwise,
    .roles = pass_factors,
    .linear_in = {},
    .gradient = gradient,
    .flops = result_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {},
};

}  // namespace mtfc::square_op
