#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/pieces.h"

namespace mtfc::pad_op {
namespace {

struct Padding {
  Dim dim;
  int64_t low, high, interior;
  int64_t size() const { return low + dim.size + (dim.size - 1) * interior + high; }
  // The distance between elements of the operand in the result. A single element has no neighbour.
  int64_t stride() const { return dim.size == 1 ? 1 : interior + 1; }
};

Padding padding_of(const Attributes& attributes) {
  return {attributes.get<Dim>("dim"), attributes.get_or<int64_t>("low", 0),
          attributes.get_or<int64_t>("high", 0), attributes.get_or<int64_t>("interior", 0)};
}

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType& x = call.operands[0];
  const Padding padding = padding_of(call.attributes);
  require_known({padding.dim}, x.dims, to_string(x), "dim");
  double size = static_cast<double>(padding.dim.size);
  for (const char* name : {"low", "high", "interior"}) {
    const int64_t value = call.attributes.get_or<int64_t>(name, 0);
    if (value < 0)
      throw OpError{fmt::format("'{}' is {}, but must be at least 0", name, value),
                    "use slice to take elements away", -1, name};
    const int64_t times = std::string_view(name) == "interior" ? padding.dim.size - 1 : 1;
    size += static_cast<double>(value) * static_cast<double>(times);
    require_size(size, "the result", padding.dim.name, name);
  }
  require_value(call.attributes.get_or("value", 0.0), x.dtype, "value");
  return {{x.dtype, replaced_dim(call, x.dims, padding.dim.name, padding.size())}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const Padding padding = padding_of(call.attributes);
  const std::string to = call.attributes.get_or("to", padding.dim).name;
  const Piece piece = {0, 0, 1, padding.low, padding.stride(), padding.dim.size};
  return piece_factors(call, results,
                       {{padding.dim.name}, to, {piece}, call.attributes.get_or("value", 0.0)});
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const Padding padding = padding_of(node.attributes);
  return {b.op("slice", {gradients[0]},
               {{"dim", node.attributes.get_or("to", padding.dim)},
                {"to", padding.dim},
                {"start", padding.low},
                {"limit", padding.size() - padding.high},
                {"stride", padding.stride()}})};
}

Example use(ExampleOperand x, const Padding& padding, std::string_view to, double value = 0) {
  return {{std::move(x)},
          {{"dim", padding.dim},
           {"low", padding.low},
           {"high", padding.high},
           {"interior", padding.interior},
           {"to", dim_of(to)},
           {"value", value}}};
}

std::vector<WorkedExample> worked_examples() {
  return {worked({known("length=3", {1, 2, 3})},
                 {{"dim", dim_of("length=3")},
                  {"low", int64_t{1}},
                  {"high", int64_t{2}},
                  {"interior", int64_t{1}},
                  {"to", dim_of("longer=8")}},
                 {{0, 1, 0, 2, 0, 3, 0, 0}})};
}

}  // namespace

extern const OpDef kOp = movement({
    .name = "pad",
    .doc = "The operand with elements added along a dimension: `low` before, `high` after and "
           "`interior` between any two.",
    .attributes = {{"dim", AttributeType::kDim, true, "the dimension to pad"},
                   {"low", AttributeType::kInteger, false, "elements added before the first; default: 0"},
                   {"high", AttributeType::kInteger, false, "elements added after the last; default: 0"},
                   {"interior", AttributeType::kInteger, false,
                    "elements added between two neighbours; default: 0"},
                   {"value", AttributeType::kNumber, false, "the value of the added elements; default: 0"},
                   {"to", AttributeType::kDim, false,
                    "the dimension that replaces `dim`; required if the size changes"}},
    .infer = infer,
    .examples = {use(normal("batch=5 length=7"), {dim_of("length=7"), 1, 3, 0}, "longer=11"),
                 use(normal("length=3 batch=5"), {dim_of("length=3"), 2, 0, 2}, "longer=9", 1.5),
                 use(normal("batch=5 length=7 model=3", DType::kF32), {dim_of("length=7"), 0, 0, 1},
                     "longer=13"),
                 use(steps("length=5", DType::kI32), {dim_of("length=5"), 0, 6, 0}, "longer=11", -1),
                 use(flags("a=3 b=5"), {dim_of("a=3"), 2, 2, 0}, "longer=7", 1),
                 {{normal("a=5 b=7")}, {{"dim", dim_of("b=7")}}}},
    .worked = worked_examples(),
    .roles = roles,
    .gradient = gradient,
});

}  // namespace mtfc::pad_op
