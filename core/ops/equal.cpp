#include "core/op_rules/elementwise.h"

namespace mtfc::equal_op {

extern const OpDef kOp = equality("equal", "True where two operands are equal, element by element.");

}  // namespace mtfc::equal_op
