#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::unstack_composite {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType& x = call.operands[0];
  const Dim& dim = call.attributes.get<Dim>("dim");
  require_known({dim}, x.dims, to_string(x), "dim");
  if (dim.size > kMostResults)
    throw OpError{
        fmt::format("unstack would return {} results, one for each element of '{}'; at most {} are possible",
                    dim.size, dim.name, kMostResults),
        "", -1, "dim"};
  return std::vector<TensorType>(static_cast<size_t>(dim.size), {x.dtype, without(x.dims, {dim})});
}

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const Dim dim = node.attributes.get<Dim>("dim");
  const Dims rest = without(b.dims(node.operands[0]), {dim});
  const Dim row{dim.name + ".1", 1};  // models can't declare names with a dot
  std::vector<TensorId> results;
  for (int64_t i = 0; i < dim.size; ++i) {
    const TensorId one =
        b.op("slice", {node.operands[0]}, {{"dim", dim}, {"start", i}, {"limit", i + 1}, {"to", row}});
    results.push_back(b.op("reshape", {one}, {{"dims", rest}}));
  }
  return results;
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "unstack",
            .doc = "The slices of a tensor at each index of a dimension, without that dimension; one result "
                   "for each.",
            .attributes = {{"dim", AttributeType::kDim, true, "the dimension to cut into slices"}},
            .infer = infer,
            .examples = {{{normal("batch=5 a=3")}, {{"dim", dim_of("a=3")}}},
                         {{normal("a=3 batch=5 c=2", DType::kF32)}, {{"dim", dim_of("batch=5")}}},
                         {{steps("a=2", DType::kI32)}, {{"dim", dim_of("a=2")}}}},
        },
    .expand = expand,
};

}  // namespace mtfc::unstack_composite
