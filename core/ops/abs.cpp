#include "core/op_rules/elementwise.h"

namespace mtfc::abs_op {

extern const OpDef kOp = number_unary({
    .name = "abs",
    .doc = "The absolute value of each element.",
    .gradient =
        times_slope([](GraphBuilder& b, const Node& node) { return b.op("sign", {node.operands[0]}); }),
});

}  // namespace mtfc::abs_op
