#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::dropout_composite {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_floats(call);
  require_rate(call.attributes.get<double>("rate"), "rate");
  return {call.operands[0]};
}

// Kept elements grow by 1 / (1 - rate), so that the expected value stays the same. The gradient passes
// through the same draw.
std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const TensorId x = node.operands[0];
  const TensorType type = b.type(x);
  const double rate = node.attributes.get<double>("rate");
  if (rate == 0) return {x};
  const TensorId draw = b.op("random_uniform", {}, {{"dims", type.dims}, {"dtype", type.dtype}});
  const TensorId dropped = b.op("less", {draw, b.constant(rate, type.dtype)});
  const TensorId grown = b.op("mul", {x, b.constant(1 / (1 - rate), type.dtype)});
  return {b.op("where", {dropped, b.constant(0, type.dtype), grown}, {{"dims", type.dims}})};
}

StandIn first_operand(const Node& node) {
  return {"identity", {node.operands[0]}};
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "dropout",
            .doc = "In training, each element becomes 0 with probability `rate` and otherwise x / (1 - "
                   "rate), drawn anew in each step and the same under every layout; in evaluation, the "
                   "operand is unchanged.",
            .attributes = {{"rate", AttributeType::kNumber, true,
                            "the probability that an element becomes 0: at least 0 and less than 1"}},
            .infer = infer,
            .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {{"rate", 0.3}}},
                         {.operands = {normal("a=3 b=5 c=2")}, .attributes = {{"rate", 0.5}}},
                         {.operands = {normal("batch=5 hidden=7")}, .attributes = {{"rate", 0.0}}},
                         {.operands = {normal("hidden=7", DType::kF32)}, .attributes = {{"rate", 0.1}}},
                         {.operands = {normal("")}, .attributes = {{"rate", 0.1}}}},
        },
    .expand = expand,
    .in_evaluation = first_operand,
    .in_f32 = true,
};

}  // namespace mtfc::dropout_composite
