#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/windows.h"

namespace mtfc::sum_pool_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_numbers(call);
  const TensorType& x = call.operands[0];
  const Windows& windows = windows_of(call.attributes);
  require_pool_windows(x, windows);
  return {{x.dtype, slid_dims(x.dims, windows)}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  return pool_factors(call, results, {});
}

// Each place spreads its gradient over its taps: again a sum, of windows that slide over the gradient.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  Windows back;
  for (const Window& window : windows_of(node.attributes)) back.push_back(transposed(window));
  return {b.op("sum_pool", {gradients[0]}, {{"windows", back}})};
}

}  // namespace

extern const OpDef kOp =
    {
        .signature =
            {
                .name = "sum_pool",
                .doc = "The sum of the elements that windows read.",
                .min_operands = 1,
                .max_operands = 1,
                .attributes = {kPoolWindows},
                .infer = infer,
                .examples = pool_examples(normal),
                .worked = {worked({known("h=5", {1, 2, 3, 4, 5})},
                                  {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}}},
                                  {{3, 9, 9}}),
                           worked({known("a=2 h=3", {1, 2, 3, 4, 5, 6})},
                                  {{"windows", Windows{sliding("a=2", 2, "z=1"), sliding("h=3", 2, "y=2")}}},
                                  {{12, 16}})},
            },
        .family = Family::kPooling,
        .roles = roles,
        .linear_in = {{0}},
        .gradient = gradient,
        .flops = pool_flops,
        .workspace = kNoWorkspace,
        .split_rule = kNoSplitRule,
        .traits = {.in_f32 = true},
};

}  // namespace mtfc::sum_pool_op
