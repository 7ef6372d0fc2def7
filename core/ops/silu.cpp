#include "core/op_rules/elementwise.h"

namespace mtfc::silu_op {

extern const OpDef kOp = float_unary({
    .name = "silu",
    .doc = "Each element times its sigmoid.",
    .gradient = times_slope([](GraphBuilder& b, const Node& node) {
      const DType dtype = b.type(node.results[0]).dtype;
      const TensorId sigmoid = b.op("sigmoid", {node.operands[0]});
      const TensorId rest = b.op("sub", {b.constant(1, dtype), sigmoid});
      return b.op("add", {sigmoid, b.op("mul", {node.results[0], rest})});
    }),
    .traits = {.own_pace = true},
});

}  // namespace mtfc::silu_op
