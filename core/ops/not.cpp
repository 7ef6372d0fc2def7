#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::not_op {
extern const OpDef kOp = {
    .signature =
        {
            .name = "not",
            .doc = "True where an element is false.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {},
            .infer = infer_bool_unary,
            .examples = {{.operands = {flags("batch=5 hidden=7")}, .attributes = {}},
                         {.operands = {flags("a=3 b=5 c=7")}, .attributes = {}},
                         {.operands = {flags("")}, .attributes = {}}},
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

}  // namespace mtfc::not_op
