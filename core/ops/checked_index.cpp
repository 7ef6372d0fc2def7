#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/indexing.h"

namespace mtfc::checked_index_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType& indices = call.operands[0];
  if (!is_integer(indices.dtype))
    throw OpError{"indices must be i32 or i64, but they are " + to_string(indices), "use cast", 0};
  return {indices};
}

}  // namespace

extern const OpDef kOp = family_member(
    Family::kElementwiseChecked,
    {
        .name = "checked_index",
        .doc = "The operand itself, after a check that its elements are indices along a dimension: it is "
               "an error if one is negative or not below the dimension's size.",
        .attributes = {{"dim", AttributeType::kDim, true, "the dimension that the indices count along"}},
        .infer = infer,
        .examples = {{.operands = {indices("batch=5", 7)}, .attributes = {{"dim", dim_of("vocab=7")}}},
                     {.operands = {indices("batch=5 length=3", 7, DType::kI64)},
                      .attributes = {{"dim", dim_of("vocab=7")}}},
                     {.operands = {indices("", 7)}, .attributes = {{"dim", dim_of("vocab=7")}}}},
    });

}  // namespace mtfc::checked_index_op
