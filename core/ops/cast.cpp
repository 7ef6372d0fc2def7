#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::cast_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  return {{call.attributes.get<DType>("dtype"), call.operands[0].dims}};
}

// The bf16 sum of products or elements as it is in f32 before it is rounded, or kNoTensor for any other tensor.
TensorId before_rounding(GraphBuilder& b, TensorId sum, DType dtype) {
  const Node& made = b.graph().producer(sum);
  if (b.type(sum).dtype != DType::kBF16 || dtype != DType::kF32 || made.kind != NodeKind::kOp)
    return kNoTensor;
  const OpDef& op = *made.op;
  std::vector<TensorId> operands = made.operands;
  Attributes attributes = made.attributes;
  if (op.family == Family::kContraction) {
    attributes.set("dtype", dtype);
  } else if (op.family == Family::kReduction && !op.linear_in.empty()) {
    operands[0] = b.op("cast", {operands[0]}, {{"dtype", dtype}});
  } else {
    return kNoTensor;
  }
  return b.add(op, operands, attributes)[0];
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType from = b.type(node.operands[0]).dtype;
  if (!is_float(from) || !is_float(b.type(node.results[0]).dtype)) return {kNoTensor};
  if (node.attributes.get_or("keep_gradient", false))
    if (const TensorId kept = before_rounding(b, gradients[0], from); kept != kNoTensor) return {kept};
  return {from == b.type(gradients[0]).dtype ? gradients[0]
                                             : b.op("cast", {gradients[0]}, {{"dtype", from}})};
}

}  // namespace

extern const OpDef kOp =
    {
        .signature =
            {
                .name = "cast",
                .doc =
                    "Each element converted to another dtype; floats become integers by truncation towards "
                    "zero, limited to the integers' range.",
                .min_operands = 1,
                .max_operands = 1,
                .attributes = {{"dtype", AttributeType::kDType, true, "the dtype of the result"},
                               {"keep_gradient", AttributeType::kFlag, false,
                                "whether a gradient that is a sum of products or elements in bf16 comes to "
                                "an f32 operand "
                                "before it is rounded"}},
                .infer = infer,
                .examples =
                    {
                        {.operands = {normal("batch=5 hidden=7")}, .attributes = {{"dtype", DType::kF64}}},
                        {.operands = {normal("batch=5 hidden=7")}, .attributes = {{"dtype", DType::kF32}}},
                        {.operands = {steps("batch=5", DType::kI32)}, .attributes = {{"dtype", DType::kF32}}},
                        {.operands = {normal("batch=5", DType::kF32)},
                         .attributes = {{"dtype", DType::kI64}}},
                        {.operands = {flags("batch=5 hidden=7")}, .attributes = {{"dtype", DType::kF32}}},
                        {.operands = {normal("batch=5 hidden=7", DType::kF32)},
                         .attributes = {{"dtype", DType::kBF16}}},
                        {.operands = {normal("batch=5", DType::kBF16)},
                         .attributes = {{"dtype", DType::kF32}}},
                        {.operands = {normal("batch=5", DType::kBF16)},
                         .attributes = {{"dtype", DType::kI32}}},
                        {.operands = {steps("batch=5", DType::kI64)},
                         .attributes = {{"dtype", DType::kBool}}}},
            },
        .family = Family::kElementwise,
        .roles = pass_factors,
        .linear_in = {},
        .gradient = gradient,
        .flops = result_elements,
        .workspace = kNoWorkspace,
        .split_rule = kNoSplitRule,
        .traits = {},
};

}  // namespace mtfc::cast_op
