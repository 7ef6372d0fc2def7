#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::and_op {
namespace {

std::vector<Example> examples() {
  const auto any_flags = [](std::string_view dims, DType) { return flags(dims); };
  return aligned_examples(any_flags, any_flags);
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "and",
            .doc = "True where both operands are true, element by element.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kResultOrder},
            .infer = infer_bool_binary,
            .examples = examples(),
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

}  // namespace mtfc::and_op
