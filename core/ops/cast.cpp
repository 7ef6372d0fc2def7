#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/unrounded.h"

namespace mtfc::cast_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  return {{call.attributes.get<DType>("dtype"), call.operands[0].dims}};
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType from = b.type(node.operands[0]).dtype;
  if (!is_float(from) || !is_float(b.type(node.results[0]).dtype)) return {kNoTensor};
  if (node.attributes.get_or("keep_gradient", false) && from == DType::kF32)
    return {unrounded(b, gradients[0])};
  return {b.cast(gradients[0], from)};
}

}  // namespace

extern const OpDef kOp = elementwise({
    .name = "cast",
    .doc = "Each element converted to another dtype; floats become integers by truncation towards "
           "zero, limited to the integers' range.",
    .attributes = {{"dtype", AttributeType::kDType, true, "the dtype of the result"},
                   {"keep_gradient", AttributeType::kFlag, false,
                    "whether the gradient of an f32 operand is taken before it is rounded to bf16"},
                   {kRoundsTerms, AttributeType::kFlag, false,
                    "whether each device may round its term of a sum, before devices add up their terms",
                    true}},
    .infer = infer,
    .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {{"dtype", DType::kF64}}},
                 {.operands = {normal("batch=5 hidden=7")}, .attributes = {{"dtype", DType::kF32}}},
                 {.operands = {steps("batch=5", DType::kI32)}, .attributes = {{"dtype", DType::kF32}}},
                 {.operands = {normal("batch=5", DType::kF32)}, .attributes = {{"dtype", DType::kI64}}},
                 {.operands = {flags("batch=5 hidden=7")}, .attributes = {{"dtype", DType::kF32}}},
                 {.operands = {normal("batch=5", DType::kF32)}, .attributes = {{"dtype", DType::kBF16}}},
                 {.operands = {normal("batch=5", DType::kBF16)}, .attributes = {{"dtype", DType::kF32}}},
                 {.operands = {normal("batch=5", DType::kBF16)}, .attributes = {{"dtype", DType::kI32}}},
                 {.operands = {steps("batch=5", DType::kI64)}, .attributes = {{"dtype", DType::kBool}}}},
    .linear_in = {{0}},
    .gradient = gradient,
    .traits = {.converts = true},
});

}  // namespace mtfc::cast_op
