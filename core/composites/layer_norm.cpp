#include "core/op_rules/normalization_rules.h"

namespace mtfc {
namespace {

constexpr double kEps = 1e-5;

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const TensorId x = node.operands[0];
  const TensorId mean = b.op("reduce_mean", {x}, {{"over", node.attributes.get<Dims>("over")}});
  return {scaled_by_root_mean_square(b, node, b.op("sub", {x, mean}), kEps)};
}

}  // namespace

extern const CompositeDef k_layer_norm_composite = {
    .signature =
        {
            .name = "layer_norm",
            .doc = "The elements less their mean over dimensions, divided by the square root of their "
                   "variance there.",
            .min_operands = 1,
            .max_operands = 1,
            .attributes = {kNormalizedOver,
                           {"eps", AttributeType::kNumber, false,
                            "added below the square root; 1e-5 unless stated"}},
            .infer = infer_normalization,
            .examples = normalization_examples(),
        },
    .expand = expand,
    .gradient = kGradientOfParts,
    .training_only = false,
};

}  // namespace mtfc
