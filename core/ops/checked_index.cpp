#include "core/op_rules/example.h"
#include "core/op_rules/indexing.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::checked_index_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType& indices = call.operands[0];
  if (!is_integer(indices.dtype))
    throw OpError{"indices must be i32 or i64, but they are " + to_string(indices), "use cast", 0};
  return {indices};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "checked_index",
            .doc = "The operand itself, after a check that its elements are indices along a dimension: it is "
                   "an error if one is negative or not below the dimension's size.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {{"dim", AttributeType::kDim, true, "the dimension that the indices count along"}},
            .infer = infer,
            .examples = {{.operands = {indices("batch=5", 7)}, .attributes = {{"dim", dim_of("vocab=7")}}},
                         {.operands = {indices("batch=5 length=3", 7, DType::kI64)},
                          .attributes = {{"dim", dim_of("vocab=7")}}},
                         {.operands = {indices("", 7)}, .attributes = {{"dim", dim_of("vocab=7")}}}},
        },
    .family = Family::kElementwiseChecked,
    .roles = pass_factors,
    .linear_in = {},
    .gradient = kNoGradient,
    .flops = no_flops,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {},
};

}  // namespace mtfc::checked_index_op
