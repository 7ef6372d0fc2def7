#include <limits>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::range_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const DType dtype = call.attributes.get_or("dtype", DType::kI32);
  const Dim& dim = call.attributes.get<Dim>("dim");
  if (dtype == DType::kBool) throw OpError{"an index is a number, but 'dtype' is bool", "", -1, "dtype"};
  if (dtype == DType::kI32 && dim.size > std::numeric_limits<int32_t>::max())
    throw OpError{"'" + dim.name + "' is too long for an index of type i32", "state \"dtype\": \"i64\"", -1,
                  "dtype"};
  return {{dtype, {dim}}};
}

}  // namespace

extern const OpDef kOp = generator({
    .name = "range",
    .doc = "The indices 0, 1, 2, ... of a dimension.",
    .attributes = {{"dim", AttributeType::kDim, true, "the dimension to count along"},
                   {"dtype", AttributeType::kDType, false, "the dtype of the result; default: i32"}},
    .infer = infer,
    .examples = {{.operands = {}, .attributes = {{"dim", dim_of("length=7")}}},
                 {.operands = {}, .attributes = {{"dim", dim_of("length=7")}, {"dtype", DType::kF32}}},
                 {.operands = {}, .attributes = {{"dim", dim_of("length=5")}, {"dtype", DType::kI64}}}},
});

}  // namespace mtfc::range_op
