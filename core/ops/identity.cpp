#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::identity_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  return {call.operands[0]};
}

std::vector<TensorId> gradient(GraphBuilder&, const Node&, std::span<const TensorId> gradients) {
  return {gradients[0]};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "identity",
            .doc = "The operand itself, under another name.",
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
    .gradient = gradient,
    .flops = no_flops,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {.copies = Copies::kOperand},
};

}  // namespace mtfc::identity_op
