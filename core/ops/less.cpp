#include "core/op_rules/elementwise.h"

namespace mtfc::less_op {

extern const OpDef kOp =
    comparison("less", "True where the first operand is less than the second, element by element.");

}  // namespace mtfc::less_op
