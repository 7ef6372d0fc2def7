#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::not_equal_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_same_dtype(call);
  return {{DType::kBool, aligned_dims(call)}};
}

std::vector<Example> examples() {
  std::vector<Example> examples = aligned_examples(steps, steps);
  examples.push_back({{steps("batch=5 hidden=7", DType::kI32), steps("batch=5", DType::kI32)}, {}});
  examples.push_back({{flags("batch=5 hidden=7"), flags("hidden=7")}, {}});
  return examples;
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "not_equal",
            .doc = "True where two operands differ, element by element.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kResultOrder},
            .infer = infer,
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

}  // namespace mtfc::not_equal_op
