#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::silu_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType dtype = b.type(node.results[0]).dtype;
  const TensorId sigmoid = b.op("sigmoid", {node.operands[0]});
  const TensorId rest = b.op("sub", {b.constant(1, dtype), sigmoid});
  return {b.op("mul", {gradients[0], b.op("add", {sigmoid, b.op("mul", {node.results[0], rest})})})};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "silu",
            .doc = "Each element times its sigmoid.",
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

}  // namespace mtfc::silu_op
