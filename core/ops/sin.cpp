#include "core/op_rules/elementwise.h"

namespace mtfc::sin_op {

extern const OpDef kOp = float_unary({
    .name = "sin",
    .doc = "The sine of each element.",
    .gradient =
        times_slope([](GraphBuilder& b, const Node& node) { return b.op("cos", {node.operands[0]}); }),
    .traits = {.own_pace = true},
});

}  // namespace mtfc::sin_op
