#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/reduction.h"

namespace mtfc::reduce_sum_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  const Dims dims = b.dims(node.operands[0]);
  return {spread_to(b, gradients[0], dims)};
}

}  // namespace

extern const OpDef kOp =
    {
        .signature =
            {
                .name = "reduce_sum",
                .doc = "The sum over the given dimensions, also of integers.",
                .min_operands = 1,
                .max_operands = 1,
                .attributes = {kReductionOver, kReductionDims},
                .infer = infer_number_reduction,
                .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {}},
                             {.operands = {normal("batch=5 hidden=7")},
                              .attributes = {{"over", dims_of("hidden=7")}}},
                             {.operands = {normal("batch=5 hidden=7")},
                              .attributes = {{"over", dims_of("batch=5")}}},
                             {.operands = {normal("a=3 b=5 c=7")}, .attributes = {{"over", dims_of("b=5")}}},
                             {.operands = {normal("a=3 b=5 c=7")},
                              .attributes = {{"over", dims_of("c=7 a=3")}}},
                             {.operands = {normal("a=3 b=5 c=7")},
                              .attributes = {{"dims", dims_of("c=7 a=3")}}},
                             {.operands = {normal("batch=5 hidden=7", DType::kF32)},
                              .attributes = {{"over", dims_of("hidden=7")}}},
                             {.operands = {normal("")}, .attributes = {}},
                             {.operands = {steps("batch=5 hidden=7", DType::kI32)},
                              .attributes = {{"over", dims_of("batch=5")}}}},
            },
        .family = Family::kReduction,
        .roles = reduction_factors<ReduceKind::kSum>,
        .linear_in = {{0}},
        .gradient = gradient,
        .flops = operand_elements,
        .workspace = kNoWorkspace,
        .split_rule = kNoSplitRule,
        .traits = {},
};

}  // namespace mtfc::reduce_sum_op
