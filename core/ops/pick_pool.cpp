#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/windows.h"

namespace mtfc::pick_pool_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType &x = call.operands[0], &taps = call.operands[1];
  const Windows& windows = windows_of(call.attributes);
  require_numbers({call.attributes, call.operands.first(1)});
  require_pool_windows(x, windows);
  require_tap_indices(taps, slid_dims(x.dims, windows), 1);
  return {{x.dtype, slid_dims(x.dims, windows)}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  return pool_factors(call, results, {1});
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor, kNoTensor};
  return {b.op("spread_pool", {gradients[0], node.operands[1]}, {{"windows", windows_of(node.attributes)}}),
          kNoTensor};
}

}  // namespace

extern const OpDef kOp =
    {
        .signature =
            {
                .name = "pick_pool",
                .doc = "The elements that given taps of windows read: the second operand counts the taps as "
                       "argmax_pool does. "
                       "It gives 0 where the tap is -1, or reads padding.",
                .min_operands = 2,
                .max_operands = 2,
                .attributes = {kPoolWindows},
                .own_dtypes = {{1, DType::kI32}},
                .infer = infer,
                .examples = picking_examples(),
                .worked = {worked({known("h=5", {1, 2, 3, 4, 5}), known("y=3", {2, 0, -1}, DType::kI32)},
                                  {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}}},
                                  {{2, 2, 0}})},
            },
        .family = Family::kPooling,
        .roles = roles,
        .linear_in = {{0}},
        .gradient = gradient,
        .flops = result_elements,
        .workspace = kNoWorkspace,
        .split_rule = kNoSplitRule,
        .traits = {.in_f32 = true},
};

}  // namespace mtfc::pick_pool_op
