#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/reduction.h"

namespace mtfc::reduce_min_op {
extern const OpDef kOp =
    {
        .signature =
            {
                .name = "reduce_min",
                .doc = "The smallest element over the given dimensions; NaN if one of them is NaN.",
                .min_operands = 1,
                .max_operands = 1,
                .attributes = {kReductionOver, kReductionDims},
                .infer = infer_number_reduction,
                .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {}},
                             {.operands = {normal("batch=5 hidden=7")},
                              .attributes = {{"over", dims_of("hidden=7")}}},
                             {.operands = {normal("batch=5 hidden=7")},
                              .attributes = {{"over", dims_of("batch=5")}}},
                             {.operands = {normal("a=3 b=5 c=7")}, .attributes = {{"over", dims_of("b=5")}}},
                             {.operands = {normal("a=3 b=5 c=7")},
                              .attributes = {{"over", dims_of("c=7 a=3")}}},
                             {.operands = {normal("a=3 b=5 c=7")},
                              .attributes = {{"dims", dims_of("c=7 a=3")}}},
                             {.operands = {normal("batch=5 hidden=7", DType::kF32)},
                              .attributes = {{"over", dims_of("hidden=7")}}},
                             {.operands = {normal("")}, .attributes = {}},
                             {.operands = {steps("batch=5 hidden=7", DType::kI32)},
                              .attributes = {{"over", dims_of("batch=5")}}},
                             {.operands = {steps("batch=5 hidden=7")},
                              .attributes = {{"over", dims_of("hidden=7")}}}},
            },
        .family = Family::kReduction,
        .roles = reduction_factors<ReduceKind::kMin>,
        .linear_in = {},
        .gradient = extremum_gradient,
        .flops = operand_elements,
        .workspace = kNoWorkspace,
        .split_rule = kNoSplitRule,
        .traits = {},
};

}  // namespace mtfc::reduce_min_op
