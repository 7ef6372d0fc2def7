#include "core/op_rules/elementwise.h"

namespace mtfc::softplus_op {

extern const OpDef kOp = float_unary({
    .name = "softplus",
    .doc = "log(1 + exp(x)) of each element.",
    .gradient =
        times_slope([](GraphBuilder& b, const Node& node) { return b.op("sigmoid", {node.operands[0]}); }),
    .traits = {.own_pace = true},
});

}  // namespace mtfc::softplus_op
