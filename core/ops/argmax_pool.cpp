#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/windows.h"

namespace mtfc::argmax_pool_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_numbers(call);
  const TensorType& x = call.operands[0];
  const Windows& windows = windows_of(call.attributes);
  require_pool_windows(x, windows);
  const Dims dims = slid_dims(x.dims, windows);
  return {{x.dtype, dims}, {DType::kI32, dims}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  return pool_factors(call, results, {});
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (gradients[0] == kNoTensor || !is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  return {b.op("spread_pool", {gradients[0], node.results[1]}, {{"windows", windows_of(node.attributes)}})};
}

std::vector<Example> examples() {
  std::vector<Example> all = pool_examples(normal), ties = pool_examples(steps);
  all.insert(all.end(), ties.begin(), ties.end());
  return all;
}

}  // namespace

extern const OpDef kOp =
    {
        .signature =
            {
                .name = "argmax_pool",
                .doc = "The largest of the elements that windows read, and the first tap that reads it, "
                       "counted over the taps "
                       "of all windows, the last one fastest. A window that reads padding alone gives the "
                       "lowest value and -1.",
                .min_operands = 1,
                .max_operands = 1,
                .attributes = {kPoolWindows},
                .infer = infer,
                .examples = examples(),
                .worked = {worked({known("h=5", {1, 5, 3, 4, 4})},
                                  {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}}},
                                  {{5, 5, 4}, {2, 0, 0}}),
                           worked({known("a=2 h=3", {1, 2, 3, 4, 9, 6})},
                                  {{"windows", Windows{sliding("a=2", 2, "z=1"), sliding("h=3", 2, "y=2")}}},
                                  {{9, 9}, {3, 2}})},
            },
        .family = Family::kPooling,
        .roles = roles,
        .linear_in = {},
        .gradient = gradient,
        .flops = pool_flops,
        .workspace = kNoWorkspace,
        .split_rule = kNoSplitRule,
        .traits = {.in_f32 = true},
};

}  // namespace mtfc::argmax_pool_op
