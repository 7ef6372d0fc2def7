#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::add_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {gradient_of(b, node.operands[0], gradients[0]), gradient_of(b, node.operands[1], gradients[0])};
}

}  // namespace

extern const OpDef kOp = number_binary({
    .name = "add",
    .doc = "The sum of two operands, element by element.",
    .worked = {worked({known("batch=2 hidden=3", {1, 2, 3, 4, 5, 6}), known("hidden=3", {10, 20, 30})}, {},
                      {{11, 22, 33, 14, 25, 36}})},
    .linear_in = {{0, 1}},
    .gradient = gradient,
    .traits = {.neutral = {{.value = 0, .on_either_side = true}}},
});

}  // namespace mtfc::add_op
