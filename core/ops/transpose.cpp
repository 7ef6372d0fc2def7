#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::transpose_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const Dims& dims = call.attributes.get<Dims>("dims");
  require_permutation(dims, call.operands[0].dims, "dims");
  return {{call.operands[0].dtype, dims}};
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("transpose", {gradients[0]}, {{"dims", b.dims(node.operands[0])}})};
}

std::vector<WorkedExample> worked_examples() {
  return {worked({known("rows=2 cols=3", {1, 2, 3, 4, 5, 6})}, {{"dims", dims_of("cols=3 rows=2")}},
                 {{1, 4, 2, 5, 3, 6}})};
}

}  // namespace

extern const OpDef kOp = movement({
    .name = "transpose",
    .doc = "The same tensor with its dimensions in another order.",
    .attributes = {{"dims", AttributeType::kDims, true, "the operand's dimensions in their new order"}},
    .infer = infer,
    .examples = {{.operands = {normal("batch=5 hidden=7")},
                  .attributes = {{"dims", dims_of("hidden=7 batch=5")}}},
                 {.operands = {normal("a=3 b=5 c=7")}, .attributes = {{"dims", dims_of("b=5 a=3 c=7")}}},
                 {.operands = {normal("a=3 b=5 c=7", DType::kF32)},
                  .attributes = {{"dims", dims_of("c=7 a=3 b=5")}}},
                 {.operands = {steps("a=3 b=5", DType::kI64)}, .attributes = {{"dims", dims_of("b=5 a=3")}}},
                 {.operands = {flags("a=3 b=5")}, .attributes = {{"dims", dims_of("b=5 a=3")}}}},
    .worked = worked_examples(),
    .gradient = gradient,
    .traits = {.copies = Copies::kReordered},
});

}  // namespace mtfc::transpose_op
