#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/placed_dim.h"

namespace mtfc::stack_composite {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_same_dtype(call);
  const Dim& dim = call.attributes.get<Dim>("dim");
  const TensorType& first = call.operands[0];
  if (dim.size != static_cast<int64_t>(call.operands.size()))
    throw OpError{fmt::format("'{}' has {} elements, but there are {} operands", dim.name, dim.size,
                              call.operands.size()),
                  "", -1, "dim"};
  if (contains(first.dims, dim.name))
    throw OpError{fmt::format("{} has the dimension '{}' already", to_string(first), dim.name),
                  "concat joins tensors along a dimension that they have", 0};
  for (size_t i = 1; i < call.operands.size(); ++i)
    if (!same_set(call.operands[i].dims, first.dims))
      throw OpError{fmt::format("{} must have the dimensions of the first operand, [{}]",
                                to_string(call.operands[i]), to_string(first.dims)),
                    "use broadcast or rename", static_cast<int>(i)};
  TensorType result = first;
  const size_t at = stated_position(call, first.dims, 0);
  result.dims.insert(result.dims.begin() + static_cast<std::ptrdiff_t>(at), dim);
  return {result};
}

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const Dim dim = node.attributes.get<Dim>("dim");
  const Dim row{dim.name + ".1", 1};  // models can't declare names with a dot
  std::vector<TensorId> rows;
  for (const TensorId operand : node.operands) {
    Dims dims = b.dims(operand);
    // The result has the order of the first operand.
    const size_t at = stated_position({node.attributes, {}}, dims, 0);
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), row);
    rows.push_back(b.op("reshape", {operand}, {{"dims", dims}}));
  }
  return {b.op("concat", rows, {{"dim", Dims{row}}, {"to", dim}})};
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "stack",
            .doc = "Tensors of the same dimensions joined along a new dimension, which comes first unless "
                   "`before` or `after` says another place.",
            .min_operands = 1,
            .max_operands = -1,
            .attributes = {{"dim", AttributeType::kDim, true,
                            "the new dimension, whose size is the number of operands"},
                           kBefore,
                           kAfter},
            .infer = infer,
            .examples = {{{normal("batch=5 a=3"), normal("batch=5 a=3")}, {{"dim", dim_of("pair=2")}}},
                         {{normal("a=3 b=5", DType::kF32), normal("b=5 a=3", DType::kF32),
                           normal("a=3 b=5", DType::kF32)},
                          {{"dim", dim_of("three=3")}}},
                         {{normal("batch=5 a=3"), normal("batch=5 a=3")},
                          {{"dim", dim_of("pair=2")}, {"before", dim_of("a=3")}}},
                         {{normal("a=3 b=5"), normal("b=5 a=3")},
                          {{"dim", dim_of("pair=2")}, {"after", dim_of("b=5")}}},
                         {{steps("", DType::kI32), steps("", DType::kI32)}, {{"dim", dim_of("pair=2")}}},
                         {{normal("a=7")}, {{"dim", dim_of("one=1")}}}},
            .worked = {worked({known("a=2", {1, 2}), known("a=2", {3, 4})}, {{"dim", dim_of("pair=2")}},
                              {{1, 2, 3, 4}})},
        },
    .expand = expand,
};

}  // namespace mtfc::stack_composite
