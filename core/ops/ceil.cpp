#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::ceil_op {
extern const OpDef kOp = {
    .signature =
        {
            .name = "ceil",
            .doc = "The smallest whole number that is not below each element.",
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
    .gradient = kNoGradient,
    .flops = result_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {},
};

}  // namespace mtfc::ceil_op
