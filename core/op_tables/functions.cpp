#include <cmath>
#include <numbers>

#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::functions_ops {
namespace {

std::vector<TensorId> sqrt_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId half = b.constant(0.5, b.type(node.results[0]).dtype);
  return {b.op("div", {b.op("mul", {gradients[0], half}), node.results[0]})};
}

std::vector<TensorId> pow_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId base = node.operands[0], exponent = node.operands[1];
  const DType dtype = b.type(base).dtype;
  const TensorId zero = b.constant(0, dtype), one = b.constant(1, dtype);
  // By the base: exponent * base^(exponent - 1). With the exponent 0 the slope is 0 at any base, but at 0 the
  // formula would give 0 * 0^-1, which is not a number.
  const TensorId flat = b.op("equal", {exponent, zero});
  const TensorId lower = b.op("where", {flat, one, b.op("sub", {exponent, one})});
  const TensorId by_base = b.op("mul", {exponent, b.op("pow", {base, lower})});
  // By the exponent: base^exponent * log(base), or 0 if the base has no logarithm, since a base below 0 may
  // have integer exponents.
  const TensorId no_log = b.op("greater_equal", {zero, base});
  const TensorId log = b.op("log", {b.op("where", {no_log, one, base})});
  const TensorId by_exponent = b.op("where", {no_log, zero, b.op("mul", {node.results[0], log})});
  return {gradient_of(b, base, b.op("mul", {gradients[0], by_base})),
          gradient_of(b, exponent, b.op("mul", {gradients[0], by_exponent}))};
}

std::vector<Example> pow_examples() {
  std::vector<Example> examples = aligned_examples(positive, normal);
  examples.push_back({{positive("batch=5 hidden=7"), steps("batch=5")}, {}});
  return examples;
}

std::vector<TensorId> log_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("div", {gradients[0], node.operands[0]})};
}

std::vector<TensorId> cos_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("neg", {b.op("mul", {gradients[0], b.op("sin", {node.operands[0]})})})};
}

}  // namespace

extern const std::vector<OpDef> kOps = {
    float_unary({
        .name = "ceil",
        .doc = "The smallest whole number that is not below each element.",
    }),
    float_unary({
        .name = "floor",
        .doc = "The largest whole number that is not above each element.",
    }),
    float_unary({
        .name = "round",
        .doc = "The whole number nearest to each element; of two equally near, the even one.",
        .worked = {worked({known("batch=5", {-1.5, -0.5, 0.5, 1.2, 2.5})}, {}, {{-2, 0, 0, 1, 2}})},
    }),
    float_unary({
        .name = "sqrt",
        .doc = "The square root of each element.",
        .examples = unary_examples(positive),
        .gradient = sqrt_gradient,
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "rsqrt",
        .doc = "1 divided by the square root of each element.",
        .examples = unary_examples(positive),
        .gradient = times_slope([](GraphBuilder& b, const Node& node) {
          const DType dtype = b.type(node.results[0]).dtype;
          const TensorId cube = b.op("mul", {node.results[0], b.op("square", {node.results[0]})});
          return b.op("mul", {cube, b.constant(-0.5, dtype)});
        }),
        .traits = {.own_pace = true},
    }),
    float_binary({
        .name = "pow",
        .doc = "The first operand to the power of the second, element by element.",
        .examples = pow_examples(),
        .gradient = pow_gradient,
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "exp",
        .doc = "e to the power of each element.",
        .gradient = times_slope([](GraphBuilder&, const Node& node) { return node.results[0]; }),
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "log",
        .doc = "The natural logarithm of each element.",
        .examples = unary_examples(positive),
        .gradient = log_gradient,
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "sin",
        .doc = "The sine of each element.",
        .gradient =
            times_slope([](GraphBuilder& b, const Node& node) { return b.op("cos", {node.operands[0]}); }),
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "cos",
        .doc = "The cosine of each element.",
        .gradient = cos_gradient,
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "tanh",
        .doc = "The hyperbolic tangent of each element.",
        .gradient = times_slope([](GraphBuilder& b, const Node& node) {
          const TensorId one = b.constant(1, b.type(node.results[0]).dtype);
          return b.op("sub", {one, b.op("square", {node.results[0]})});
        }),
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "erf",
        .doc = "The error function of each element.",
        .gradient = times_slope([](GraphBuilder& b, const Node& node) {
          const DType dtype = b.type(node.results[0]).dtype;
          const TensorId bell = b.op("exp", {b.op("neg", {b.op("square", {node.operands[0]})})});
          return b.op("mul", {bell, b.constant(2 * std::numbers::inv_sqrtpi, dtype)});
        }),
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "sigmoid",
        .doc = "1 / (1 + exp(-x)) of each element.",
        .gradient = times_slope([](GraphBuilder& b, const Node& node) {
          const DType dtype = b.type(node.results[0]).dtype;
          const TensorId rest = b.op("sub", {b.constant(1, dtype), node.results[0]});
          return b.op("mul", {node.results[0], rest});
        }),
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "gelu",
        .doc = "x times the probability that a standard normal variable is below x: 0.5 * x * (1 + erf(x "
               "/ sqrt(2))).",
        .gradient = times_slope([](GraphBuilder& b, const Node& node) {
          const DType dtype = b.type(node.results[0]).dtype;
          const TensorId x = node.operands[0], half = b.constant(0.5, dtype);
          const TensorId scaled = b.op("mul", {x, b.constant(std::sqrt(0.5), dtype)});
          const TensorId below =
              b.op("mul", {half, b.op("add", {b.op("erf", {scaled}), b.constant(1, dtype)})});
          // `density` is that of the standard normal distribution, exp(-x * x / 2) / sqrt(2 * pi).
          const TensorId bell = b.op("exp", {b.op("neg", {b.op("square", {scaled})})});
          const TensorId density =
              b.op("mul", {bell, b.constant(std::sqrt(0.5 * std::numbers::inv_pi), dtype)});
          return b.op("add", {below, b.op("mul", {x, density})});
        }),
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "silu",
        .doc = "Each element times its sigmoid.",
        .gradient = times_slope([](GraphBuilder& b, const Node& node) {
          const DType dtype = b.type(node.results[0]).dtype;
          const TensorId sigmoid = b.op("sigmoid", {node.operands[0]});
          const TensorId rest = b.op("sub", {b.constant(1, dtype), sigmoid});
          return b.op("add", {sigmoid, b.op("mul", {node.results[0], rest})});
        }),
        .traits = {.own_pace = true},
    }),
    float_unary({
        .name = "softplus",
        .doc = "log(1 + exp(x)) of each element.",
        .gradient = times_slope(
            [](GraphBuilder& b, const Node& node) { return b.op("sigmoid", {node.operands[0]}); }),
        .traits = {.own_pace = true},
    }),
};

}  // namespace mtfc::functions_ops
