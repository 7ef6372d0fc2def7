#include "core/op_rules/elementwise.h"

namespace mtfc::tanh_op {

extern const OpDef kOp = float_unary({
    .name = "tanh",
    .doc = "The hyperbolic tangent of each element.",
    .gradient = times_slope([](GraphBuilder& b, const Node& node) {
      const TensorId one = b.constant(1, b.type(node.results[0]).dtype);
      return b.op("sub", {one, b.op("square", {node.results[0]})});
    }),
    .traits = {.own_pace = true},
});

}  // namespace mtfc::tanh_op
