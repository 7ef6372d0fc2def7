#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/windows.h"

namespace mtfc::sum_pool_op {
namespace {

// Each place spreads its gradient over its taps: again a sum, of windows that slide over the gradient.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  Windows back;
  for (const Window& window : windows_of(node.attributes)) back.push_back(transposed(window));
  return {b.op("sum_pool", {gradients[0]}, {{"windows", back}})};
}

}  // namespace

extern const OpDef kOp = pooling({
    .name = "sum_pool",
    .doc = "The sum of the elements that windows read.",
    .infer = infer_pool,
    .examples = pool_examples(normal),
    .worked = {worked({known("h=5", {1, 2, 3, 4, 5})},
                      {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}}}, {{3, 9, 9}}),
               worked({known("a=2 h=3", {1, 2, 3, 4, 5, 6})},
                      {{"windows", Windows{sliding("a=2", 2, "z=1"), sliding("h=3", 2, "y=2")}}},
                      {{12, 16}})},
    .roles = pool_factors,
    .linear_in = {{0}},
    .gradient = gradient,
    .flops = pool_flops,
});

}  // namespace mtfc::sum_pool_op
