#include "core/op_rules/normalization_rules.h"

namespace mtfc::layer_norm_composite {
namespace {

constexpr double kEps = 1e-5;

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const TensorId x = node.operands[0];
  const TensorId mean = b.op("reduce_mean", {x}, {{"over", node.attributes.get<Dims>("over")}});
  return {scaled_by_root_mean_square(b, node, b.op("sub", {x, mean}), kEps)};
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "layer_norm",
            .doc = "The elements minus their mean, divided by the square root of their variance, over the "
                   "given dimensions.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {kNormalizedOver,
                           {"eps", AttributeType::kNumber, false,
                            "added under the square root; default: 1e-5"}},
            .infer = infer_normalization,
            .examples = normalization_examples(),
        },
    .expand = expand,
    .gradient = kGradientOfParts,
    .in_evaluation = kAsInTraining,
};

}  // namespace mtfc::layer_norm_composite
