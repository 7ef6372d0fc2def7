#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::constant_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const DType dtype = call.attributes.get_or("dtype", DType::kF32);
  const double value = call.attributes.get<double>("value");
  require_value(value, dtype, "value");
  return {{dtype, {}}};
}

}  // namespace

extern const OpDef kOp = generator({
    .name = "constant",
    .doc = "A number.",
    .attributes = {{"value", AttributeType::kNumber, true, "the number"},
                   {"dtype", AttributeType::kDType, false, "the dtype of the result; default: f32"}},
    .infer = infer,
    .examples = {{.operands = {}, .attributes = {{"value", 0.5}, {"dtype", DType::kF32}}},
                 {.operands = {}, .attributes = {{"value", -1e9}, {"dtype", DType::kF64}}},
                 {.operands = {}, .attributes = {{"value", 7.0}, {"dtype", DType::kI32}}},
                 {.operands = {}, .attributes = {{"value", 1.0}, {"dtype", DType::kBool}}}},
    .traits = {.is_constant = true},
});

}  // namespace mtfc::constant_op
