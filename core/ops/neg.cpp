#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::neg_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {gradient_of(b, node.operands[0], b.op("neg", {gradients[0]}))};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "neg",
            .doc = "The negative of each element.",
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
    .linear_in = {{0}},
    .gradient = gradient,
    .flops = result_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {},
};

}  // namespace mtfc::neg_op
