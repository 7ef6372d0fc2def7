#include "core/op_rules/elementwise.h"

namespace mtfc::and_op {
extern const OpDef kOp = bool_binary({
    .name = "and",
    .doc = "True where both operands are true, element by element.",
});

}  // namespace mtfc::and_op
