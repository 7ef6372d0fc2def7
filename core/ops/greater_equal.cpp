#include "core/op_rules/elementwise.h"

namespace mtfc::greater_equal_op {

extern const OpDef kOp =
    comparison("greater_equal",
               "True where the first operand is greater than or equal to the second, element by element.");

}  // namespace mtfc::greater_equal_op
