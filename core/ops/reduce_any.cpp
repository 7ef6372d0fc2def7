#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/reduction.h"

namespace mtfc::reduce_any_op {
extern const OpDef kOp = {
    .signature =
        {
            .name = "reduce_any",
            .doc = "True where any element over the given dimensions is true.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {kReductionOver, kReductionDims},
            .infer = infer_bool_reduction,
            .examples = {{.operands = {flags("batch=5 hidden=7")}, .attributes = {}},
                         {.operands = {flags("batch=5 hidden=7")},
                          .attributes = {{"over", dims_of("hidden=7")}}},
                         {.operands = {flags("batch=5 hidden=7")},
                          .attributes = {{"over", dims_of("batch=5")}}},
                         {.operands = {flags("a=3 b=5 c=7")}, .attributes = {{"over", dims_of("b=5")}}},
                         {.operands = {flags("a=3 b=5 c=7")}, .attributes = {{"over", dims_of("a=3")}}},
                         {.operands = {flags("a=3 b=5 c=7")}, .attributes = {{"dims", dims_of("c=7 a=3")}}},
                         {.operands = {flags("")}, .attributes = {}}},
        },
    .family = Family::kReduction,
    .roles = reduction_factors<ReduceKind::kMax>,
    .linear_in = {},
    .gradient = kNoGradient,
    .flops = operand_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {},
};

}  // namespace mtfc::reduce_any_op
