#include "core/op_rules/normalization_rules.h"

namespace mtfc::rms_norm_composite {
namespace {

constexpr double kEps = 1e-6;

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  return {scaled_by_root_mean_square(b, node, node.operands[0], kEps)};
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
    .gradient = kGradientOfParts,
    .in_evaluation = kAsInTraining,
};

}  // namespace mtfc::rms_norm_composite
