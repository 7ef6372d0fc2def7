#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::mod_op {
extern const OpDef kOp = checked_division({
    .name = "mod",
    .doc = "The remainder of floordiv, with the sign of the second operand; dividing integers by 0 "
           "is an error.",
    .worked = {worked({known("batch=4", {7, -7, 7, -7}), known("batch=4", {3, 3, -3, -3})}, {},
                      {{1, 2, -2, -1}})},
});

}  // namespace mtfc::mod_op
