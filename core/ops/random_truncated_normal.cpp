#include "core/op_rules/random_rules.h"

namespace mtfc::random_truncated_normal_op {

extern const OpDef kOp = random_numbers(
    "random_truncated_normal",
    "Numbers from the standard normal distribution within [-2, 2], the same for every layout.");

}  // namespace mtfc::random_truncated_normal_op
