#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::floordiv_op {
extern const OpDef kOp = checked_division({
    .name = "floordiv",
    .doc = "The first operand divided by the second and rounded down; dividing integers by 0 is an "
           "error.",
    .worked = {worked({known("batch=4", {7, -7, 7, -7}), known("batch=4", {3, 3, -3, -3})}, {},
                      {{2, -3, -3, 2}})},
});

}  // namespace mtfc::floordiv_op
