#include "core/op_rules/random_rules.h"

namespace mtfc::random_uniform_op {

extern const OpDef kOp = random_numbers(
    "random_uniform", "Numbers from the uniform distribution over [0, 1), the same for every layout.");

}  // namespace mtfc::random_uniform_op
