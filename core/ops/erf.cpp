#include <numbers>

#include "core/op_rules/elementwise.h"

namespace mtfc::erf_op {

extern const OpDef kOp = float_unary({
    .name = "erf",
    .doc = "The error function of each element.",
    .gradient = times_slope([](GraphBuilder& b, const Node& node) {
      const DType dtype = b.type(node.results[0]).dtype;
      const TensorId bell = b.op("exp", {b.op("neg", {b.op("square", {node.operands[0]})})});
      return b.op("mul", {bell, b.constant(2 * std::numbers::inv_sqrtpi, dtype)});
    }),
    .traits = {.own_pace = true},
});

}  // namespace mtfc::erf_op
