#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::log_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("div", {gradients[0], node.operands[0]})};
}

}  // namespace

extern const OpDef kOp = float_unary({
    .name = "log",
    .doc = "The natural logarithm of each element.",
    .examples = unary_examples(positive),
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::log_op
