#include "core/op_rules/normalization_rules.h"

namespace mtfc::layer_norm_composite {
namespace {

constexpr double kEps = 1e-5;

TensorId deviations(GraphBuilder& b, const Node& node) {
  const TensorId x = node.operands[0];
  return b.op("sub", {x, b.op("reduce_mean", {x}, {{"over", node.attributes.get<Dims>("over")}})});
}

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const TensorId x = deviations(b, node);
  return {b.op("mul", {x, inverse_root_mean_square(b, node, x, kEps)})};
}

// The scale has the same means as that of the expansion, which are computed once.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId scale = inverse_root_mean_square(b, node, deviations(b, node), kEps);
  return {normalization_gradient(b, node, scale, gradients[0], true)};
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
    .gradient = gradient,
    .in_evaluation = kAsInTraining,
    .in_f32 = true,
};

}  // namespace mtfc::layer_norm_composite
