#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/pieces.h"

namespace mtfc::reverse_op {
namespace {

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const Dim& dim = call.attributes.get<Dim>("dim");
  const Piece backwards = {0, dim.size - 1, -1, 0, 1, dim.size};
  return piece_factors(call, results, {{dim.name}, dim.name, {backwards}});
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("reverse", {gradients[0]}, {{"dim", node.attributes.get<Dim>("dim")}})};
}

}  // namespace

extern const OpDef kOp = movement({
    .name = "reverse",
    .doc = "The elements along a dimension from the last to the first.",
    .attributes = {{"dim", AttributeType::kDim, true, "the dimension to reverse"}},
    .infer = infer_moved,
    .examples = {{{normal("batch=5 length=7")}, {{"dim", dim_of("length=7")}}},
                 {{normal("length=7 batch=5")}, {{"dim", dim_of("length=7")}}},
                 {{normal("a=3 b=5 c=2", DType::kF32)}, {{"dim", dim_of("b=5")}}},
                 {{steps("a=11", DType::kI64)}, {{"dim", dim_of("a=11")}}}},
    .worked = {worked({known("length=3", {1, 2, 3})}, {{"dim", dim_of("length=3")}}, {{3, 2, 1}})},
    .roles = roles,
    .gradient = gradient,
});

}  // namespace mtfc::reverse_op
