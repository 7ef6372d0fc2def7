#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::arithmetic_ops {
namespace {

std::vector<TensorId> add_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {gradient_of(b, node.operands[0], gradients[0]), gradient_of(b, node.operands[1], gradients[0])};
}

std::vector<TensorId> sub_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId minuend = gradient_of(b, node.operands[0], gradients[0]);
  const TensorId reduced = gradient_of(b, node.operands[1], gradients[0]);
  return {minuend, reduced == kNoTensor ? kNoTensor : b.op("neg", {reduced})};
}

std::vector<TensorId> mul_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor, kNoTensor};
  return {gradient_of(b, node.operands[0], b.op("mul", {gradients[0], node.operands[1]})),
          gradient_of(b, node.operands[1], b.op("mul", {gradients[0], node.operands[0]}))};
}

std::vector<TensorId> div_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId quotient = b.op("div", {gradients[0], node.operands[1]});
  const TensorId product = b.op("mul", {quotient, node.results[0]});
  return {gradient_of(b, node.operands[0], quotient),
          gradient_of(b, node.operands[1], b.op("neg", {product}))};
}

std::vector<TensorId> neg_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {gradient_of(b, node.operands[0], b.op("neg", {gradients[0]}))};
}

std::vector<TensorId> reciprocal_gradient(GraphBuilder& b, const Node& node,
                                          std::span<const TensorId> gradients) {
  return {b.op("neg", {b.op("mul", {gradients[0], b.op("square", {node.results[0]})})})};
}

// No gradient passes where the result is 0. The operand would tell as much, but it would have to be kept.
std::vector<TensorId> relu_gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  const TensorId zero = b.constant(0, b.type(node.operands[0]).dtype);
  const TensorId off = b.op("greater_equal", {zero, node.results[0]});
  return {b.op("where", {off, zero, gradients[0]})};
}

}  // namespace

extern const std::vector<OpDef> kOps = {
    number_binary({
        .name = "add",
        .doc = "The sum of two operands, element by element.",
        .worked = {worked({known("batch=2 hidden=3", {1, 2, 3, 4, 5, 6}), known("hidden=3", {10, 20, 30})},
                          {}, {{11, 22, 33, 14, 25, 36}})},
        .linear_in = {{0, 1}},
        .gradient = add_gradient,
        .traits = {.neutral = {{.value = 0, .on_either_side = true}}},
    }),
    number_binary({
        .name = "sub",
        .doc = "The first operand minus the second, element by element.",
        .linear_in = {{0, 1}},
        .gradient = sub_gradient,
        .traits = {.neutral = {{.value = 0, .on_either_side = false}}},
    }),
    number_binary({
        .name = "mul",
        .doc = "The product of two operands, element by element.",
        .linear_in = {{0}, {1}},
        .gradient = mul_gradient,
        .traits = {.neutral = {{.value = 1, .on_either_side = true}}, .multiplies = true},
    }),
    float_binary({
        .name = "div",
        .doc = "The first operand divided by the second, element by element.",
        .examples = aligned_examples(normal, positive),
        .linear_in = {{0}},
        .gradient = div_gradient,
        .traits = {.neutral = {{.value = 1, .on_either_side = false}}, .own_pace = true},
    }),
    checked_division({
        .name = "floordiv",
        .doc = "The first operand divided by the second and rounded down; dividing integers by 0 is an "
               "error.",
        .worked = {worked({known("batch=4", {7, -7, 7, -7}), known("batch=4", {3, 3, -3, -3})}, {},
                          {{2, -3, -3, 2}})},
    }),
    checked_division({
        .name = "mod",
        .doc = "The remainder of floordiv, with the sign of the second operand; dividing integers by 0 "
               "is an error.",
        .worked = {worked({known("batch=4", {7, -7, 7, -7}), known("batch=4", {3, 3, -3, -3})}, {},
                          {{1, 2, -2, -1}})},
    }),
    number_binary(
        {
            .name = "maximum",
            .doc = "The larger of two operands, element by element; NaN if either is NaN.",
            .gradient =
                [](GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
                  return winners_gradient(b, node, gradients[0], "greater_equal");
                },
        }),
    number_binary(
        {
            .name = "minimum",
            .doc = "The smaller of two operands, element by element; NaN if either is NaN.",
            .gradient =
                [](GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
                  return winners_gradient(b, node, gradients[0], "less_equal");
                },
        }),
    number_unary({
        .name = "abs",
        .doc = "The absolute value of each element.",
        .gradient =
            times_slope([](GraphBuilder& b, const Node& node) { return b.op("sign", {node.operands[0]}); }),
    }),
    number_unary({
        .name = "neg",
        .doc = "The negative of each element.",
        .linear_in = {{0}},
        .gradient = neg_gradient,
    }),
    float_unary({
        .name = "reciprocal",
        .doc = "1 divided by each element.",
        .examples = unary_examples(positive),
        .gradient = reciprocal_gradient,
        .traits = {.own_pace = true},
    }),
    number_unary({
        .name = "relu",
        .doc = "Each element, or 0 if it is negative.",
        .worked = {worked({known("batch=5", {-2, -0.5, 0, 0.25, 3})}, {}, {{0, 0, 0, 0.25, 3}})},
        .gradient = relu_gradient,
    }),
    number_unary({
        .name = "sign",
        .doc = "-1, 0 or 1, depending on the sign of each element; NaN if the element is NaN.",
    }),
    number_unary({
        .name = "square",
        .doc = "Each element times itself.",
        .gradient = times_slope([](GraphBuilder& b, const Node& node) {
          const TensorId two = b.constant(2, b.type(node.operands[0]).dtype);
          return b.op("mul", {node.operands[0], two});
        }),
    }),
};

}  // namespace mtfc::arithmetic_ops
