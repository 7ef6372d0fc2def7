#include "core/op_rules/elementwise.h"

namespace mtfc::logic_ops {

extern const std::vector<OpDef> kOps = {
    equality("equal", "True where two operands are equal, element by element."),
    equality("not_equal", "True where two operands differ, element by element."),
    comparison("less", "True where the first operand is less than the second, element by element."),
    comparison("less_equal",
               "True where the first operand is less than or equal to the second, element by element."),
    comparison("greater", "True where the first operand is greater than the second, element by element."),
    comparison("greater_equal",
               "True where the first operand is greater than or equal to the second, element by element."),
    bool_binary({
        .name = "and",
        .doc = "True where both operands are true, element by element.",
    }),
    bool_binary({
        .name = "or",
        .doc = "True where at least one of two operands is true, element by element.",
    }),
    bool_unary({
        .name = "not",
        .doc = "True where an element is false.",
    }),
};

}  // namespace mtfc::logic_ops
