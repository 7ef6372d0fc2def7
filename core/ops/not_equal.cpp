#include "core/op_rules/elementwise.h"

namespace mtfc::not_equal_op {

extern const OpDef kOp = equality("not_equal", "True where two operands differ, element by element.");

}  // namespace mtfc::not_equal_op
