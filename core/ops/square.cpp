#include "core/op_rules/elementwise.h"

namespace mtfc::square_op {

extern const OpDef kOp = number_unary({
    .name = "square",
    .doc = "Each element times itself.",
    .gradient = times_slope([](GraphBuilder& b, const Node& node) {
      const TensorId two = b.constant(2, b.type(node.operands[0]).dtype);
      return b.op("mul", {node.operands[0], two});
    }),
});

}  // namespace mtfc::square_op
