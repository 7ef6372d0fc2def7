#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::rsqrt_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType dtype = b.type(node.results[0]).dtype;
  const TensorId cube = b.op("mul", {node.results[0], b.op("square", {node.results[0]})});
  return {b.op("mul", {gradients[0], b.op("mul", {cube, b.constant(-0.5, dtype)})})};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "rsqrt",
            .doc = "1 divided by the square root of each element.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {},
            .infer = infer_float_unary,
            .examples = {{.operands = {positive("batch=5 hidden=7")}, .attributes = {}},
                         {.operands = {positive("a=3 b=5 c=7")}, .attributes = {}},
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

}  // namespace mtfc::rsqrt_op
