#include "core/op_rules/random_rules.h"

namespace mtfc::random_normal_op {

extern const OpDef kOp = random_numbers(
    "random_normal", "Numbers from the standard normal distribution, the same for every layout.");

}  // namespace mtfc::random_normal_op
