#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::stop_gradient_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  return {call.operands[0]};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "stop_gradient",
            .doc = "The operand itself, through which no gradient flows.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {},
            .infer = infer,
            .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {}},
                         {.operands = {normal("", DType::kF32)}, .attributes = {}},
                         {.operands = {flags("batch=5")}, .attributes = {}}},
        },
    .family = Family::kRelabel,
    .roles = no_factors,
    .linear_in = {{0}},
    .gradient = kNoGradient,
    .flops = no_flops,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {.copies = Copies::kOperand},
};

}  // namespace mtfc::stop_gradient_op
