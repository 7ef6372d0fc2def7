#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::round_op {
extern const OpDef kOp = float_unary({
    .name = "round",
    .doc = "The whole number nearest to each element; of two equally near, the even one.",
    .worked = {worked({known("batch=5", {-1.5, -0.5, 0.5, 1.2, 2.5})}, {}, {{-2, 0, 0, 1, 2}})},
});

}  // namespace mtfc::round_op
