#include "core/op_rules/family.h"

namespace mtfc::stop_gradient_op {

extern const OpDef kOp =
    unchanged("stop_gradient", "The operand itself, through which no gradient flows.", kNoGradient);

}  // namespace mtfc::stop_gradient_op
