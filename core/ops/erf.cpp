#include <numbers>

#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::erf_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType dtype = b.type(node.results[0]).dtype;
  const TensorId bell = b.op("exp", {b.op("neg", {b.op("square", {node.operands[0]})})});
  const TensorId slope = b.op("mul", {bell, b.constant(2 * std::numbers::inv_sqrtpi, dtype)});
  return {b.op("mul", {gradients[0], slope})};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "erf",
            .doc = "The error function of each element.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {},
            .infer = infer_float_unary,
            .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {}},
                         {.operands = {normal("a=3 b=5 c=7")}, .attributes = {}},
                         {.operands = {normal("")}, .attributes = {}},
                         {.operands = {normal("batch=5", DType::kF32)}, .attributes = {}}},
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

}  // namespace mtfc::erf_op
