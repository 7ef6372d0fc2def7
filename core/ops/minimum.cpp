#include "core/op_rules/elementwise.h"

namespace mtfc::minimum_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return winners_gradient(b, node, gradients[0], "less_equal");
}

}  // namespace

extern const OpDef kOp = number_binary({
    .name = "minimum",
    .doc = "The smaller of two operands, element by element; NaN if either is NaN.",
    .gradient = gradient,
});

}  // namespace mtfc::minimum_op
