#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/windows.h"

namespace mtfc::argmax_pool_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType largest = infer_pool(call)[0];
  return {largest, {DType::kI32, largest.dims}};
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

extern const OpDef kOp = pooling({
    .name = "argmax_pool",
    .doc = "The largest of the elements that windows read, and the first tap that reads it, counted over the "
           "taps of all windows, the last one fastest. A window that reads padding alone gives the lowest "
           "value and -1.",
    .infer = infer,
    .examples = examples(),
    .worked = {worked({known("h=5", {1, 5, 3, 4, 4})},
                      {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}}},
                      {{5, 5, 4}, {2, 0, 0}}),
               worked({known("a=2 h=3", {1, 2, 3, 4, 9, 6})},
                      {{"windows", Windows{sliding("a=2", 2, "z=1"), sliding("h=3", 2, "y=2")}}},
                      {{9, 9}, {3, 2}})},
    .roles = pool_factors,
    .gradient = gradient,
    .flops = pool_flops,
});

}  // namespace mtfc::argmax_pool_op
