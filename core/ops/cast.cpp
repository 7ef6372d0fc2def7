#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::cast_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  return {{call.attributes.get<DType>("dtype"), call.operands[0].dims}};
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType from = b.type(node.operands[0]).dtype;
  if (!is_float(from) || !is_float(b.type(node.results[0]).dtype)) return {kNoTensor};
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
                .attributes = {{"dtype", AttributeType::kDType, true, "the dtype of the result"}},
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
