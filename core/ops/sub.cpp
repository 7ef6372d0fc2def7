#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::sub_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId minuend = gradient_of(b, node.operands[0], gradients[0]);
  const TensorId reduced = gradient_of(b, node.operands[1], gradients[0]);
  return {minuend, reduced == kNoTensor ? kNoTensor : b.op("neg", {reduced})};
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "sub",
            .doc = "The first operand minus the second, element by element.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kResultOrder},
            .infer = infer_number_binary,
            .examples = aligned_number_examples(),
        },
    .family = Family::kElementwise,
    .roles = pass_factors,
    .linear_in = {{0, 1}},
    .gradient = gradient,
    .flops = result_elements,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {.neutral = {{.value = 0, .on_either_side = false}}},
};

}  // namespace mtfc::sub_op
