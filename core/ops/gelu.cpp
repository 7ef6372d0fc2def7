#include <cmath>
#include <numbers>

#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::gelu_op {

extern const OpDef kOp = float_unary({
    .name = "gelu",
    .doc = "x times the probability that a standard normal variable is below x: 0.5 * x * (1 + erf(x "
           "/ sqrt(2))).",
    .gradient = times_slope([](GraphBuilder& b, const Node& node) {
      const DType dtype = b.type(node.results[0]).dtype;
      const TensorId x = node.operands[0], half = b.constant(0.5, dtype);
      const TensorId scaled = b.op("mul", {x, b.constant(std::sqrt(0.5), dtype)});
      const TensorId below = b.op("mul", {half, b.op("add", {b.op("erf", {scaled}), b.constant(1, dtype)})});
      // `density` is that of the standard normal distribution, exp(-x * x / 2) / sqrt(2 * pi).
      const TensorId bell = b.op("exp", {b.op("neg", {b.op("square", {scaled})})});
      const TensorId density = b.op("mul", {bell, b.constant(std::sqrt(0.5 * std::numbers::inv_pi), dtype)});
      return b.op("add", {below, b.op("mul", {x, density})});
    }),
    .traits = {.own_pace = true},
});

}  // namespace mtfc::gelu_op
