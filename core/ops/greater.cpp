#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::greater_op {
extern const OpDef kOp = {
    .signature =
        {
            .name = "greater",
            .doc = "True where the first operand is greater than the second, element by element.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kResultOrder},
            .infer = infer_comparison,
            .examples = comparison_examples(),
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

}  // namespace mtfc::greater_op
