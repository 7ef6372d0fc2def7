#include <fmt/format.h>

#include <limits>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/parts.h"

namespace mtfc::top_k_op {
namespace {

Dims rest_of(const OpCall& call) {
  return without(call.operands[0].dims, {call.attributes.get<Dim>("dim")});
}

void require_sizes(const OpCall& call, const Dim& dim, const Dim& to) {
  if (call.attributes.has("k") && call.attributes.get<int64_t>("k") != to.size)
    throw OpError{fmt::format("'k' is {}, but 'to' names the dimension '{}' of size {}",
                              call.attributes.get<int64_t>("k"), to.name, to.size),
                  fmt::format("leave 'k' out, or make it the size of '{}'", to.name), -1, "k"};
  if (to.size > dim.size)
    throw OpError{fmt::format("can't take the {} largest elements of '{}', which has only {}", to.size,
                              dim.name, dim.size),
                  "", -1, "to"};
  if (dim.size > std::numeric_limits<int32_t>::max())
    throw OpError{"'dim' names a dimension too long for an index of type i32", "", -1, "dim"};
}

std::vector<TensorType> infer(const OpCall& call) {
  require_numbers(call);
  const TensorType& x = call.operands[0];
  const Dim &dim = call.attributes.get<Dim>("dim"), &to = call.attributes.get<Dim>("to");
  require_known({dim}, x.dims, to_string(x), "dim");
  require_sizes(call, dim, to);
  Dims dims = rest_of(call);
  if (contains(dims, to.name))
    throw OpError{"'to' names the dimension '" + to.name + "', which " + to_string(x) + " has already", "",
                  -1, "to"};
  if (call.attributes.has("parts")) dims.push_back(call.attributes.get<Dim>("parts"));
  dims.push_back(to);
  return {{x.dtype, dims}, {DType::kI32, dims}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  std::vector<Factor> factors;
  for (const Dim& dim : rest_of(call))
    factors.push_back(factor(dim.name, Factor::Kind::kPass, call, results));
  // If all elements are wanted, `to` may be `dim` itself. Even then, the dimension that is read and the one
  // that is made are different factors.
  const bool in_parts = call.attributes.has("parts");
  Factor read =
      in_parts ? parts_factor(call, results)
               : factor(call.attributes.get<Dim>("dim").name, Factor::Kind::kNeedsReplication, call, results);
  if (!in_parts) read.results = {-1, -1};
  const int last = static_cast<int>(results[0].dims.size()) - 1;
  factors.push_back(read);
  factors.push_back({Factor::Kind::kPass, {-1}, {last, last}});
  return factors;
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  check_invariant(!node.attributes.has("parts"), "a top_k of parts is differentiated");
  const TensorType x = b.type(node.operands[0]);
  if (!is_float(x.dtype) || gradients[0] == kNoTensor) return {kNoTensor};
  return {b.op("scatter_add", {gradients[0], node.results[1]},
               {{"dim", node.attributes.get<Dim>("dim")}, {"dims", x.dims}})};
}

// Gathers the largest elements of each part and takes the largest among those. They are in the order of
// parts, and equal ones of a part are in the order of indices, so the first among equals has the lowest
// index.
std::vector<TensorId> split_rule(GraphBuilder& b, const Node& node, int64_t count) {
  const TensorType x = b.type(node.operands[0]);
  const Dim dim = node.attributes.get<Dim>("dim"), to = node.attributes.get<Dim>("to");
  const int64_t found_bytes = size_of(x.dtype) + size_of(DType::kI32);
  // If the candidates have as many bytes as the operand, gathering the operand sends no more data. Otherwise
  // every part holds enough elements.
  if (to.size * count * found_bytes >= dim.size * size_of(x.dtype))
    return b.add(*node.op, node.operands, node.attributes);
  const Dim parts = parts_dim(count), kept{fmt::format("kept@{}", to.size), to.size};
  const std::vector<TensorId> found =
      b.add(*node.op, node.operands, {{"dim", dim}, {"to", kept}, {"parts", parts}});
  const Dim candidates{fmt::format("candidates@{}", count * to.size), count * to.size};
  const Attributes merged = {{"dims", unite(without(x.dims, {dim}), {candidates})}};
  const TensorId values = b.op("reshape", {found[0]}, merged);
  const TensorId indices = b.op("reshape", {found[1]}, merged);
  const std::vector<TensorId> best = b.add(*node.op, {values}, {{"dim", candidates}, {"to", to}});
  return {best[0], b.op("gather", {indices, best[1]}, {{"dim", candidates}})};
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand x, std::string_view dim, std::string_view to) {
    return Example{{std::move(x)}, {{"dim", dim_of(dim)}, {"to", dim_of(to)}}};
  };
  return {
      {{normal("batch=5 classes=7")},
       {{"dim", dim_of("classes=7")}, {"to", dim_of("best=2")}, {"k", int64_t{2}}}},
      use(normal("classes=7 batch=3"), "classes=7", "best=1"),
      use(normal("a=2 b=7 c=3"), "b=7", "best=5"),
      use(normal("a=3 b=2 c=2"), "a=3", "best=3"),
      use(normal("classes=7"), "classes=7", "classes=7"),
      use(normal("batch=2 classes=5", DType::kF32), "classes=5", "best=3"),
      use(steps("batch=3 classes=11", DType::kI32), "classes=11", "best=4"),
      use(steps("classes=7 batch=2", DType::kF64), "classes=7", "best=6"),
      use(steps("classes=5", DType::kI64), "classes=5", "best=2"),
      use(normal("batch=5 classes=2"), "classes=2", "best=2"),
      use(normal("batch=2 classes=23", DType::kF32), "classes=23", "best=2"),
      use(steps("classes=29 batch=2", DType::kI64), "classes=29", "best=2"),
  };
}

}  // namespace

extern const OpDef kOp = indexing({
    .name = "top_k",
    .doc = "The largest elements along a dimension in descending order, and their i32 indices; equal "
           "elements are ordered by index, the lowest first, and NaN comes before all others.",
    .attributes = {{"dim", AttributeType::kDim, true, "the dimension to search"},
                   {"to", AttributeType::kDim, true,
                    "the dimension of the elements found, which comes last in both results; its size "
                    "says how many to find"},
                   {"k", AttributeType::kInteger, false,
                    "the number of elements to find, which must be the size of `to`"},
                   kParts},
    .infer = infer,
    .examples = examples(),
    .worked = {worked({known("classes=5", {3, 9, 4, 9, 1})},
                      {{"dim", dim_of("classes=5")}, {"to", dim_of("best=3")}}, {{9, 9, 4}, {1, 3, 2}})},
    .roles = roles,
    .gradient = gradient,
    .flops = operand_elements,
    .split_rule = split_rule,
    .traits = {.in_f32 = true},
});

}  // namespace mtfc::top_k_op
