#include "core/op_rules/elementwise.h"

namespace mtfc::floor_op {
extern const OpDef kOp = float_unary({
    .name = "floor",
    .doc = "The largest whole number that is not above each element.",
});

}  // namespace mtfc::floor_op
