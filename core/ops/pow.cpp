#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::pow_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
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

std::vector<Example> examples() {
  std::vector<Example> examples = aligned_examples(positive, normal);
  examples.push_back({{positive("batch=5 hidden=7"), steps("batch=5")}, {}});
  return examples;
}

}  // namespace

extern const OpDef kOp = float_binary({
    .name = "pow",
    .doc = "The first operand to the power of the second, element by element.",
    .examples = examples(),
    .gradient = gradient,
    .traits = {.own_pace = true},
});

}  // namespace mtfc::pow_op
