#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/pieces.h"
#include "core/op_rules/placed_dim.h"

namespace mtfc::concat_op {
namespace {

// The concatenated dimension of an operand. `dim` has one name for all operands or a name for each.
const Dim& own_dim(const Attributes& attributes, size_t operand) {
  const Dims& dims = attributes.get<Dims>("dim");
  return dims.size() == 1 ? dims[0] : dims[operand];
}

std::vector<TensorType> infer(const OpCall& call) {
  require_same_dtype(call);
  const Dims& named = call.attributes.get<Dims>("dim");
  if (named.size() != 1 && named.size() != call.operands.size())
    throw OpError{
        fmt::format("'dim' names {} dimensions for {} operands", named.size(), call.operands.size()),
        "name one for all of them, or one for each", -1, "dim"};
  const Dims others = without(call.operands[0].dims, {own_dim(call.attributes, 0)});
  int64_t size = 0;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const TensorType& x = call.operands[i];
    const Dim& dim = own_dim(call.attributes, i);
    if (!contains(x.dims, dim.name))
      throw OpError{fmt::format("{} has no dimension '{}'", to_string(x), dim.name), "", static_cast<int>(i)};
    if (!same_set(without(x.dims, {dim}), others))
      throw OpError{fmt::format("apart from '{}', {} must have the dimensions [{}], like the first operand",
                                dim.name, to_string(x), to_string(others)),
                    "use broadcast, rename or reshape", static_cast<int>(i)};
    require_size(static_cast<double>(size) + static_cast<double>(dim.size), "the result",
                 own_dim(call.attributes, 0).name, "", static_cast<int>(i));
    size += dim.size;
  }
  const std::string& joined = own_dim(call.attributes, 0).name;
  Dims dims = replaced_dim(call, call.operands[0].dims, joined, size);
  const auto own = static_cast<size_t>(position(call.operands[0].dims, joined));
  const Dim to = dims[own];
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(own));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(stated_position(call, dims, own)), to);
  return {{call.operands[0].dtype, dims}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  std::vector<std::string> from;
  std::vector<Piece> pieces;
  int64_t next = 0;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Dim& dim = own_dim(call.attributes, i);
    from.push_back(dim.name);
    pieces.push_back({static_cast<int>(i), 0, 1, next, 1, dim.size});
    next += dim.size;
  }
  const std::string to = call.attributes.get_or("to", own_dim(call.attributes, 0)).name;
  return piece_factors(call, results, {std::move(from), to, std::move(pieces)});
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const Dim to = node.attributes.get_or("to", own_dim(node.attributes, 0));
  std::vector<TensorId> found;
  int64_t next = 0;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Dim& dim = own_dim(node.attributes, i);
    const TensorId part = b.op("slice", {gradients[0]},
                               {{"dim", to}, {"to", dim}, {"start", next}, {"limit", next + dim.size}});
    const Dims dims = b.dims(node.operands[i]);
    found.push_back(spread_to(b, part, dims));
    next += dim.size;
  }
  return found;
}

std::vector<WorkedExample> worked_examples() {
  return {worked({known("a=2", {1, 2}), known("b=3", {3, 4, 5})},
                 {{"dim", dims_of("a=2 b=3")}, {"to", dim_of("c=5")}}, {{1, 2, 3, 4, 5}})};
}

}  // namespace

extern const OpDef kOp = movement({
    .name = "concat",
    .doc = "The operands joined one after the other along a dimension; their other dimensions must "
           "be the same. The result's dimension stands where the first operand has it, unless "
           "`before` or `after` says another place.",
    .max_operands = -1,
    .attributes =
        {{"dim", AttributeType::kParts, true,
          "the dimension along which to join: one name for all operands, or a list with one name for "
          "each"},
         {"to", AttributeType::kDim, false,
          "the result's dimension, as long as those of the operands together; required if there "
          "are several"},
         kBefore,
         kAfter},
    .infer = infer,
    .examples = {{{normal("batch=5 a=3"), normal("batch=5 b=7")},
                  {{"dim", dims_of("a=3 b=7")}, {"to", dim_of("c=10")}}},
                 {{normal("a=3 batch=5"), normal("batch=5 a=3"), normal("a=3 batch=5")},
                  {{"dim", dims_of("a=3")}, {"to", dim_of("c=9")}}},
                 {{normal("x=2 a=5 y=3", DType::kF32), normal("x=2 y=3 b=2", DType::kF32)},
                  {{"dim", dims_of("a=5 b=2")}, {"to", dim_of("c=7")}}},
                 {{normal("a=3 x=5"), normal("a=3 x=5")},
                  {{"dim", dims_of("a=3")}, {"to", dim_of("c=6")}, {"after", dim_of("x=5")}}},
                 {{normal("x=5 y=2 a=3"), normal("b=2 x=5 y=2")},
                  {{"dim", dims_of("a=3 b=2")}, {"to", dim_of("c=5")}, {"before", dim_of("x=5")}}},
                 {{steps("a=1", DType::kI32), steps("b=5", DType::kI32)},
                  {{"dim", dims_of("a=1 b=5")}, {"to", dim_of("c=6")}}},
                 {{normal("batch=5 a=3")}, {{"dim", dims_of("a=3")}}}},
    .worked = worked_examples(),
    .roles = roles,
    .gradient = gradient,
});

}  // namespace mtfc::concat_op
