#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::floordiv_op {
namespace {

std::vector<Example> examples() {
  std::vector<Example> examples = aligned_examples(normal, positive);
  examples.push_back({{steps("batch=5 hidden=7"), positive("hidden=7")}, {}});
  examples.push_back({{steps("batch=5 hidden=7", DType::kI32), positive("hidden=7", DType::kI32)}, {}});
  examples.push_back({{steps("batch=5", DType::kI64), positive("hidden=7 batch=5", DType::kI64)}, {}});
  return examples;
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "floordiv",
            .doc = "The first operand divided by the second and rounded down; dividing integers by 0 is an "
                   "error.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kResultOrder},
            .infer = infer_number_binary,
            .examples = examples(),
            .worked = {worked({known("batch=4", {7, -7, 7, -7}), known("batch=4", {3, 3, -3, -3})}, {},
                              {{2, -3, -3, 2}})},
        },
    .family = Family::kElementwiseChecked,
    .roles = pass_factors,
    .linear_in = {},
    .gradient = kNoGradient,
    .flops = result_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {},
};

}  // namespace mtfc::floordiv_op
