#include "core/op_rules/elementwise.h"

namespace mtfc::ceil_op {
extern const OpDef kOp = float_unary({
    .name = "ceil",
    .doc = "The smallest whole number that is not below each element.",
});

}  // namespace mtfc::ceil_op
