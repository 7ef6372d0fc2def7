#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/parts.h"

namespace mtfc::cumsum_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_numbers(call);
  const TensorType& x = call.operands[0];
  const Dim& dim = call.attributes.get<Dim>("dim");
  require_known({dim}, x.dims, to_string(x), "dim");
  if (!call.attributes.has("parts")) return {x};
  return {x, {x.dtype, unite({call.attributes.get<Dim>("parts")}, without(x.dims, {dim}))}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const std::string& dim = call.attributes.get<Dim>("dim").name;
  std::vector<Factor> factors;
  for (const Dim& own : results[0].dims)
    if (own.name != dim) factors.push_back(factor(own.name, Factor::Kind::kPass, call, results));
  factors.push_back(call.attributes.has("parts")
                        ? parts_factor(call, results)
                        : factor(dim, Factor::Kind::kNeedsReplication, call, results));
  return factors;
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  check_invariant(!node.attributes.has("parts"), "a cumsum of parts is differentiated");
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  Attributes attributes = node.attributes;
  attributes.set("reverse", !node.attributes.get_or("reverse", false));
  return {b.op("cumsum", {gradients[0]}, attributes)};
}

// Computes sums within each part and adds to them the sum of all parts before. Only the parts' totals are
// gathered.
std::vector<TensorId> split_rule(GraphBuilder& b, const Node& node, int64_t count) {
  const Dims dims = b.dims(node.operands[0]);
  const Dim dim = node.attributes.get<Dim>("dim"), parts = parts_dim(count);
  // With as many totals as elements, gathering the operand sends no more data.
  if (count >= dim.size) return b.add(*node.op, node.operands, node.attributes);
  Attributes within = node.attributes;
  within.set("parts", parts);
  const std::vector<TensorId> sums = b.add(*node.op, node.operands, within);
  const TensorId before =
      b.op("cumsum", {sums[1]},
           {{"dim", parts}, {"exclusive", true}, {"reverse", node.attributes.get_or("reverse", false)}});
  return {b.op("add", {sums[0], spread_parts(b, before, dim, parts)}, {{"dims", dims}})};
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand x, std::string_view dim, bool exclusive = false, bool reverse = false) {
    return Example{{std::move(x)}, {{"dim", dim_of(dim)}, {"exclusive", exclusive}, {"reverse", reverse}}};
  };
  return {
      {{normal("batch=5 length=7")}, {{"dim", dim_of("length=7")}}},
      use(normal("length=7 batch=5"), "length=7", true),
      use(normal("a=2 b=7 c=3"), "b=7", false, true),
      use(normal("a=3 b=2 c=5"), "c=5", true, true),
      use(normal("a=3 b=2 c=5"), "b=2", true),
      use(normal("length=11"), "length=11"),
      use(normal("batch=3 length=7", DType::kF32), "length=7"),
      use(steps("length=7 batch=3", DType::kI32), "length=7", false, true),
      use(steps("length=5", DType::kI64), "length=5", true),
  };
}

}  // namespace

extern const OpDef kOp = family_member(
    Family::kReduction,
    {
        .name = "cumsum",
        .doc = "For each element, the sum of all elements along a dimension up to this one; integers "
               "wrap around.",
        .attributes = {{"dim", AttributeType::kDim, true, "the dimension to sum along"},
                       {"exclusive", AttributeType::kFlag, false,
                        "whether to leave out the element itself; default: false"},
                       {"reverse", AttributeType::kFlag, false,
                        "whether to sum from the end of the dimension; default: false"},
                       kParts},
        .infer = infer,
        .examples = examples(),
        .worked = {worked({known("length=5", {1, 2, 3, 4, 5})}, {{"dim", dim_of("length=5")}},
                          {{1, 3, 6, 10, 15}})},
        .roles = roles,
        .linear_in = {{0}},
        .gradient = gradient,
        .flops = operand_elements,
        .split_rule = split_rule,
        .traits = {.in_f32 = true},
    });

}  // namespace mtfc::cumsum_op
