#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::sqrt_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId half = b.constant(0.5, b.type(node.results[0]).dtype);
  return {b.op("div", {b.op("mul", {gradients[0], half}), node.results[0]})};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "sqrt",
            .doc = "The square root of each element.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {},
            .infer = infer_float_unary,
            .examples = {{.operands = {positive("batch=5 hidden=7")}, .attributes = {}},
                         {.operands = {positive("")}, .attributes = {}},
                         {.operands = {positive("batch=5", DType::kF32)}, .attributes = {}}},
        },
    .family = Family::kElementwise,
    .roles = pass_factors,
    .linear_in = {},
    .gradient = gradient,
    .flops = result_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {.own_pace = true},
};

}  // namespace mtfc::sqrt_op
