#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::broadcast_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const Dims& dims = call.attributes.get<Dims>("dims");
  require_distinct(dims, "dims");
  for (const Dim& dim : call.operands[0].dims)
    if (!contains(dims, dim.name))
      throw OpError{"'dims' must name every dimension of the operand, but '" + dim.name + "' is missing",
                    "reduce_sum and the other reductions remove a dimension", -1, "dims"};
  return {{call.operands[0].dtype, dims}};
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const Dims dims = b.dims(node.operands[0]);
  return {reduce_to(b, gradients[0], dims)};
}

}  // namespace

extern const OpDef kOp = movement({
    .name = "broadcast",
    .doc = "The operand repeated along dimensions that it lacks; the result's dimensions may be in "
           "any order.",
    .attributes = {{"dims", AttributeType::kDims, true,
                    "the dimensions of the result, including all those of the operand"}},
    .infer = infer,
    .examples = {{.operands = {normal("hidden=7")}, .attributes = {{"dims", dims_of("batch=5 hidden=7")}}},
                 {.operands = {normal("hidden=7")}, .attributes = {{"dims", dims_of("hidden=7 batch=5")}}},
                 {.operands = {normal("a=3 b=5")}, .attributes = {{"dims", dims_of("b=5 c=7 a=3")}}},
                 {.operands = {normal("", DType::kF32)}, .attributes = {{"dims", dims_of("batch=5")}}},
                 {.operands = {steps("a=3", DType::kI32)}, .attributes = {{"dims", dims_of("a=3 b=5")}}},
                 {.operands = {flags("a=3")}, .attributes = {{"dims", dims_of("b=5 a=3")}}}},
    .gradient = gradient,
    .traits = {.copies = Copies::kSpread},
});

}  // namespace mtfc::broadcast_op
