#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::minimum_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType dtype = b.type(node.operands[0]).dtype;
  if (!is_float(dtype)) return {kNoTensor, kNoTensor};
  // If both are smallest, each takes half of the gradient.
  const TensorId tie = b.op("equal", {node.operands[0], node.operands[1]});
  const TensorId first_wins = b.op("less_equal", {node.operands[0], node.operands[1]});
  const TensorId zero = b.constant(0, dtype);
  const TensorId half = b.op("mul", {gradients[0], b.constant(0.5, dtype)});
  const TensorId first = b.op("where", {tie, half, b.op("where", {first_wins, gradients[0], zero})});
  const TensorId second = b.op("where", {tie, half, b.op("where", {first_wins, zero, gradients[0]})});
  return {gradient_of(b, node.operands[0], first), gradient_of(b, node.operands[1], second)};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "minimum",
            .doc = "The smaller of two operands, element by element; NaN if either is NaN.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kResultOrder},
            .infer = infer_number_binary,
            .examples = aligned_number_examples(),
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

}  // namespace mtfc::minimum_op
