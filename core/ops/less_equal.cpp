#include "core/op_rules/elementwise.h"

namespace mtfc::less_equal_op {

extern const OpDef kOp = comparison(
    "less_equal", "True where the first operand is less than or equal to the second, element by element.");

}  // namespace mtfc::less_equal_op
