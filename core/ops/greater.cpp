#include "core/op_rules/elementwise.h"

namespace mtfc::greater_op {

extern const OpDef kOp =
    comparison("greater", "True where the first operand is greater than the second, element by element.");

}  // namespace mtfc::greater_op
