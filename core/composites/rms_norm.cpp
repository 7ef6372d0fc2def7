#include "core/op_rules/normalization_rules.h"

namespace mtfc::rms_norm_composite {
namespace {

constexpr double kEps = 1e-6;

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const TensorId x = node.operands[0];
  return {b.op("mul", {x, inverse_root_mean_square(b, node, x, kEps)})};
}

// The scale has the same mean as that of the expansion, which is computed once.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId scale = inverse_root_mean_square(b, node, node.operands[0], kEps);
  return {normalization_gradient(b, node, scale, gradients[0], false)};
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "rms_norm",
            .doc = "The elements divided by the square root of the mean of their squares over the given "
                   "dimensions.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {kNormalizedOver,
                           {"eps", AttributeType::kNumber, false,
                            "added under the square root; default: 1e-6"}},
            .infer = infer_normalization,
            .examples = normalization_examples(),
        },
    .expand = expand,
    .gradient = gradient,
    .in_evaluation = kAsInTraining,
    .in_f32 = true,
};

}  // namespace mtfc::rms_norm_composite
