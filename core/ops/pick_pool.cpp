#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/windows.h"

namespace mtfc::pick_pool_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType picked = infer_pool(call)[0];
  require_tap_indices(call.operands[1], picked.dims, 1);
  return {picked};
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor, kNoTensor};
  return {b.op("spread_pool", {gradients[0], node.operands[1]}, {{"windows", windows_of(node.attributes)}}),
          kNoTensor};
}

}  // namespace

extern const OpDef kOp = pooling({
    .name = "pick_pool",
    .doc = "The elements that given taps of windows read: the second operand counts the taps as argmax_pool "
           "does. It gives 0 where the tap is -1, or reads padding.",
    .min_operands = 2,
    .max_operands = 2,
    .infer = infer,
    .examples = picking_examples(),
    .worked = {worked({known("h=5", {1, 2, 3, 4, 5}), known("y=3", {2, 0, -1}, DType::kI32)},
                      {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}}}, {{2, 2, 0}})},
    .roles = pool_factors,
    .linear_in = {{0}},
    .gradient = gradient,
    .flops = result_elements,
});

}  // namespace mtfc::pick_pool_op
