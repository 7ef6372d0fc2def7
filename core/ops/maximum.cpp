#include "core/op_rules/elementwise.h"

namespace mtfc::maximum_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return winners_gradient(b, node, gradients[0], "greater_equal");
}

}  // namespace

extern const OpDef kOp = number_binary({
    .name = "maximum",
    .doc = "The larger of two operands, element by element; NaN if either is NaN.",
    .gradient = gradient,
});

}  // namespace mtfc::maximum_op
