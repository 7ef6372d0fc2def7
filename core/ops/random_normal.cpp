#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/random_rules.h"

namespace mtfc::random_normal_op {
extern const OpDef kOp = {
    .signature =
        {
            .name = "random_normal",
            .doc = "Numbers from the standard normal distribution, the same for every layout.",
            .min_operands = 0,
            .max_operands = 1,
            .attributes = {kRandomDims, kRandomDType, kRandomInterleaved, kRandomKey},
            .infer = infer_random,
            .examples = {{.operands = {}, .attributes = {{"dims", dims_of("batch=5 hidden=7")}}},
                         {.operands = {},
                          .attributes = {{"dims", dims_of("a=3 b=5 c=7")}, {"dtype", DType::kF64}}},
                         {.operands = {}, .attributes = {{"dims", Dims{}}}}},
        },
    .family = Family::kGenerator,
    .roles = pass_factors,
    .linear_in = {},
    .gradient = kNoGradient,
    .flops = result_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {.is_drawn = true, .own_pace = true},
};

}  // namespace mtfc::random_normal_op
