#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/pieces.h"

namespace mtfc::slice_op {
namespace {

// The rows start, start + stride, ... of a dimension that are below limit.
struct Range {
  Dim dim;
  int64_t start, limit, stride;
  int64_t count() const { return (limit - start - 1) / stride + 1; }
  // The distance between two of them. A single row has no neighbour, however large the stride is.
  int64_t step() const { return count() == 1 ? 1 : stride; }
};

Range range_of(const Attributes& attributes) {
  const Dim& dim = attributes.get<Dim>("dim");
  return {dim, attributes.get_or<int64_t>("start", 0), attributes.get_or<int64_t>("limit", dim.size),
          attributes.get_or<int64_t>("stride", 1)};
}

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType& x = call.operands[0];
  const Range range = range_of(call.attributes);
  require_known({range.dim}, x.dims, to_string(x), "dim");
  if (range.stride < 1)
    throw OpError{fmt::format("'stride' is {}, but must be at least 1", range.stride),
                  "use reverse to go backwards", -1, "stride"};
  if (range.start < 0 || range.start >= range.dim.size)
    throw OpError{fmt::format("'start' is {}, but '{}' goes from 0 to {}", range.start, range.dim.name,
                              range.dim.size - 1),
                  "", -1, "start"};
  if (range.limit <= range.start || range.limit > range.dim.size)
    throw OpError{
        fmt::format("'limit' is {}, but must be more than 'start', {}, and at most {}, the size of '{}'",
                    range.limit, range.start, range.dim.size, range.dim.name),
        "", -1, "limit"};
  return {{x.dtype, replaced_dim(call, x.dims, range.dim.name, range.count())}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const Range range = range_of(call.attributes);
  const std::string to = call.attributes.get_or("to", range.dim).name;
  const Piece piece = {0, range.start, range.step(), 0, 1, range.count()};
  return piece_factors(call, results, {{range.dim.name}, to, {piece}});
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const Range range = range_of(node.attributes);
  const int64_t last = range.start + (range.count() - 1) * range.step();
  return {b.op("pad", {gradients[0]},
               {{"dim", node.attributes.get_or("to", range.dim)},
                {"to", range.dim},
                {"low", range.start},
                {"high", range.dim.size - 1 - last},
                {"interior", range.step() - 1}})};
}

Example use(ExampleOperand x, const Range& range, std::string_view to) {
  return {{std::move(x)},
          {{"dim", range.dim},
           {"start", range.start},
           {"limit", range.limit},
           {"stride", range.stride},
           {"to", dim_of(to)}}};
}

std::vector<WorkedExample> worked_examples() {
  return {worked(
      {known("length=7", {10, 20, 30, 40, 50, 60, 70})},
      {{"dim", dim_of("length=7")}, {"start", int64_t{1}}, {"stride", int64_t{2}}, {"to", dim_of("part=3")}},
      {{20, 40, 60}})};
}

}  // namespace

extern const OpDef kOp = movement({
    .name = "slice",
    .doc = "The elements `start`, `start` + `stride`, ... below `limit` along a dimension.",
    .attributes = {{"dim", AttributeType::kDim, true, "the dimension to slice"},
                   {"start", AttributeType::kInteger, false, "the index of the first element; default: 0"},
                   {"limit", AttributeType::kInteger, false,
                    "the index after the last element; default: the size of `dim`"},
                   {"stride", AttributeType::kInteger, false, "the distance between elements; default: 1"},
                   {"to", AttributeType::kDim, false,
                    "the dimension that replaces `dim`; required if the size changes"}},
    .infer = infer,
    .examples = {use(normal("batch=5 length=11"), {dim_of("length=11"), 2, 9, 1}, "part=7"),
                 use(normal("length=11 batch=5"), {dim_of("length=11"), 1, 11, 3}, "part=4"),
                 use(normal("batch=5 length=11 model=3", DType::kF32), {dim_of("length=11"), 0, 10, 2},
                     "part=5"),
                 use(steps("length=7", DType::kI32), {dim_of("length=7"), 6, 7, 5}, "one=1"),
                 use(flags("a=3 b=5"), {dim_of("a=3"), 1, 3, 1}, "part=2"),
                 {{normal("a=5 b=7")}, {{"dim", dim_of("b=7")}}}},
    .worked = worked_examples(),
    .roles = roles,
    .gradient = gradient,
});

}  // namespace mtfc::slice_op
