#include "core/op_rules/elementwise.h"

namespace mtfc::not_op {
extern const OpDef kOp = bool_unary({
    .name = "not",
    .doc = "True where an element is false.",
});

}  // namespace mtfc::not_op
