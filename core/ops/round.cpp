#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::round_op {
extern const OpDef kOp = {
    .signature =
        {
            .name = "round",
            .doc = "The whole number nearest to each element; of two equally near, the even one.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {},
            .infer = infer_float_unary,
            .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {}},
                         {.operands = {normal("a=3 b=5 c=7")}, .attributes = {}},
                         {.operands = {normal("")}, .attributes = {}},
                         {.operands = {normal("batch=5", DType::kF32)}, .attributes = {}}},
            .worked = {worked({known("batch=5", {-1.5, -0.5, 0.5, 1.2, 2.5})}, {}, {{-2, 0, 0, 1, 2}})},
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

}  // namespace mtfc::round_op
