#include "core/op_rules/elementwise.h"

namespace mtfc::or_op {
extern const OpDef kOp = bool_binary({
    .name = "or",
    .doc = "True where at least one of two operands is true, element by element.",
});

}  // namespace mtfc::or_op
