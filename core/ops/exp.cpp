#include "core/op_rules/elementwise.h"

namespace mtfc::exp_op {

extern const OpDef kOp = float_unary({
    .name = "exp",
    .doc = "e to the power of each element.",
    .gradient = times_slope([](GraphBuilder&, const Node& node) { return node.results[0]; }),
    .traits = {.own_pace = true},
});

}  // namespace mtfc::exp_op
