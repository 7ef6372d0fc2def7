#include "core/op_rules/elementwise.h"

namespace mtfc::sign_op {
extern const OpDef kOp = number_unary({
    .name = "sign",
    .doc = "-1, 0 or 1, depending on the sign of each element; NaN if the element is NaN.",
});

}  // namespace mtfc::sign_op
