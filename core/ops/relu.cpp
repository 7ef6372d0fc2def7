#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

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

extern const OpDef kOp = {
    .signature =
        {
            .name = "relu",
            .doc = "Each element, or 0 if it is negative.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {},
            .infer = infer_number_unary,
            .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {}},
                         {.operands = {normal("")}, .attributes = {}},
                         {.operands = {steps("batch=5 hidden=7", DType::kI32)}, .attributes = {}},
                         {.operands = {normal("batch=5", DType::kF32)}, .attributes = {}}},
            .worked = {worked({known("batch=5", {-2, -0.5, 0, 0.25, 3})}, {}, {{0, 0, 0, 0.25, 3}})},
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

}  // namespace mtfc::relu_op
