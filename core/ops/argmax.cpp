#include <limits>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::argmax_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_numbers(call);
  const Dims& over = call.attributes.get<Dims>("over");
  if (over.size() != 1) throw OpError{"'over' must name one dimension", "", -1, "over"};
  require_known(over, call.operands[0].dims, to_string(call.operands[0]), "over");
  if (over[0].size > std::numeric_limits<int32_t>::max())
    throw OpError{"'over' names a dimension too long for an index of type i32", "", -1, "over"};
  return {{DType::kI32, without(call.operands[0].dims, over)}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  std::vector<Factor> factors = pass_factors(call, results);
  factors.push_back(
      factor(call.attributes.get<Dims>("over")[0].name, Factor::Kind::kNeedsReplication, call, results));
  return factors;
}

// Finds the smallest index among the elements that hold the maximum, or that of a NaN if there is one. Both
// steps are reductions that can run split.
std::vector<TensorId> split_rule(GraphBuilder& b, const Node& node, int64_t) {
  const TensorId x = node.operands[0];
  const Dims over = node.attributes.get<Dims>("over");
  const Dims& dims = b.dims(x);
  const Dim dim = dims[static_cast<size_t>(position(dims, over[0].name))];
  const TensorId largest = b.op("reduce_max", {x}, {{"over", over}});
  const TensorId index = b.op("range", {}, {{"dim", dim}, {"dtype", DType::kI32}});
  const TensorId none = b.constant(static_cast<double>(dim.size), DType::kI32);
  const TensorId candidate = b.op("where", {b.op("equal", {x, largest}), index, none});
  const TensorId found = b.op("where", {b.op("equal", {x, x}), candidate, index});
  return {b.op("reduce_min", {found}, {{"over", over}})};
}

std::vector<WorkedExample> worked_examples() {
  return {
      worked({known("batch=2 classes=3", {1, 5, 2, 7, 7, 0})}, {{"over", dims_of("classes=3")}}, {{1, 0}})};
}

}  // namespace

extern const OpDef kOp = family_member(
    Family::kReduction,
    {
        .name = "argmax",
        .doc = "The i32 index of the largest element along one dimension; of equal elements, the lowest "
               "index.",
        .attributes = {{"over", AttributeType::kOver, true, "the dimension to search"}},
        .infer = infer,
        .examples = {{.operands = {normal("batch=5 classes=7")},
                      .attributes = {{"over", dims_of("classes=7")}}},
                     {.operands = {steps("a=3 b=5 c=7")}, .attributes = {{"over", dims_of("b=5")}}},
                     {.operands = {steps("batch=5 classes=7", DType::kF32)},
                      .attributes = {{"over", dims_of("batch=5")}}},
                     {.operands = {steps("batch=5 classes=7", DType::kI32)},
                      .attributes = {{"over", dims_of("classes=7")}}},
                     {.operands = {steps("classes=7")}, .attributes = {{"over", dims_of("classes=7")}}}},
        .worked = worked_examples(),
        .roles = roles,
        .flops = operand_elements,
        .split_rule = split_rule,
        .traits = {.in_f32 = true},
    });

}  // namespace mtfc::argmax_op
