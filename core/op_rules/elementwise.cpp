#include "core/op_rules/elementwise.h"

#include <algorithm>
#include <utility>

#include "core/op_rules/example.h"

namespace mtfc {
namespace {

Dims natural_dims(std::span<const TensorType> operands) {
  const auto by_rank = [](const TensorType& a, const TensorType& b) { return a.dims.size() < b.dims.size(); };
  const auto largest = std::max_element(operands.begin(), operands.end(), by_rank);
  const auto has_all = [&](const TensorType& type) {
    return std::all_of(type.dims.begin(), type.dims.end(),
                       [&](const Dim& dim) { return contains(largest->dims, dim.name); });
  };
  if (std::all_of(operands.begin(), operands.end(), has_all)) return largest->dims;
  Dims all;
  for (const TensorType& type : operands) all = unite(all, type.dims);
  return all;
}

// A braced list would copy the dimensions.
std::vector<TensorType> one_type(DType dtype, Dims dims) {
  std::vector<TensorType> types(1);
  types[0] = {dtype, std::move(dims)};
  return types;
}

std::vector<TensorType> infer_float_unary(const OpCall& call) {
  require_floats(call);
  return {call.operands[0]};
}

std::vector<TensorType> infer_number_unary(const OpCall& call) {
  require_numbers(call);
  return {call.operands[0]};
}

std::vector<TensorType> infer_bool_unary(const OpCall& call) {
  require_bools(call);
  return {call.operands[0]};
}

std::vector<TensorType> infer_float_binary(const OpCall& call) {
  require_floats(call);
  require_same_dtype(call);
  return one_type(call.operands[0].dtype, aligned_dims(call));
}

std::vector<TensorType> infer_number_binary(const OpCall& call) {
  require_numbers(call);
  require_same_dtype(call);
  return one_type(call.operands[0].dtype, aligned_dims(call));
}

std::vector<TensorType> infer_bool_binary(const OpCall& call) {
  require_bools(call);
  return one_type(DType::kBool, aligned_dims(call));
}

std::vector<TensorType> infer_comparison(const OpCall& call) {
  require_numbers(call);
  require_same_dtype(call);
  return one_type(DType::kBool, aligned_dims(call));
}

std::vector<TensorType> infer_equality(const OpCall& call) {
  require_same_dtype(call);
  return one_type(DType::kBool, aligned_dims(call));
}

ExampleOperand any_flags(std::string_view dims, DType) {
  return flags(dims);
}

using InferRule = std::vector<TensorType> (*)(const OpCall&);

OpDef unary(InferRule infer, std::vector<Example> examples, FamilyMember member) {
  member.infer = infer;
  if (member.examples.empty()) member.examples = std::move(examples);
  return elementwise(std::move(member));
}

OpDef binary(InferRule infer, std::vector<Example> examples, FamilyMember member) {
  member.min_operands = member.max_operands = 2;
  member.attributes = {kResultOrder};
  return unary(infer, std::move(examples), std::move(member));
}

}  // namespace

Dims aligned_dims(const OpCall& call) {
  Dims natural = natural_dims(call.operands);
  const AttributeValue* given = call.attributes.find("dims");
  if (!given) return natural;
  Dims ordered;
  const Dims& wanted = std::get<Dims>(*given);
  require_permutation(wanted, natural, "dims");
  for (const Dim& dim : wanted) ordered.push_back(natural[static_cast<size_t>(position(natural, dim.name))]);
  return ordered;
}

OpDef elementwise(FamilyMember member) {
  member.flops = result_elements;
  return family_member(Family::kElementwise, std::move(member));
}

OpDef float_unary(FamilyMember member) {
  return unary(infer_float_unary, unary_examples(normal), std::move(member));
}

OpDef number_unary(FamilyMember member) {
  std::vector<Example> examples = unary_examples(normal);
  for (const DType dtype : {DType::kI32, DType::kF64})
    examples.push_back({{steps("batch=5 hidden=7", dtype)}, {}});
  return unary(infer_number_unary, std::move(examples), std::move(member));
}

OpDef bool_unary(FamilyMember member) {
  return unary(infer_bool_unary, unary_examples(any_flags), std::move(member));
}

OpDef float_binary(FamilyMember member) {
  return binary(infer_float_binary, aligned_examples(normal, normal), std::move(member));
}

OpDef number_binary(FamilyMember member) {
  return binary(infer_number_binary, aligned_number_examples(), std::move(member));
}

OpDef bool_binary(FamilyMember member) {
  return binary(infer_bool_binary, aligned_examples(any_flags, any_flags), std::move(member));
}

OpDef checked_division(FamilyMember member) {
  std::vector<Example> examples = aligned_examples(normal, positive);
  examples.push_back({{steps("batch=5 hidden=7"), positive("hidden=7")}, {}});
  examples.push_back({{steps("batch=5 hidden=7", DType::kI32), positive("hidden=7", DType::kI32)}, {}});
  examples.push_back({{steps("batch=5", DType::kI64), positive("hidden=7 batch=5", DType::kI64)}, {}});
  OpDef made = binary(infer_number_binary, std::move(examples), std::move(member));
  made.family = Family::kElementwiseChecked;
  return made;
}

OpDef comparison(std::string_view name, std::string_view doc) {
  return binary(infer_comparison, comparison_examples(), {.name = name, .doc = doc});
}

OpDef equality(std::string_view name, std::string_view doc) {
  std::vector<Example> examples = comparison_examples();
  examples.push_back({{flags("batch=5 hidden=7"), flags("hidden=7")}, {}});
  return binary(infer_equality, std::move(examples), {.name = name, .doc = doc});
}

std::vector<Example> unary_examples(ExampleOperand (*maker)(std::string_view dims, DType dtype)) {
  std::vector<Example> examples;
  for (const std::string_view dims : {"batch=5 hidden=7", "a=3 b=5 c=7", ""})
    examples.push_back({{maker(dims, DType::kF64)}, {}});
  examples.push_back({{maker("batch=5", DType::kF32)}, {}});
  return examples;
}

std::vector<TensorId> winners_gradient(GraphBuilder& b, const Node& node, TensorId gradient,
                                       std::string_view wins) {
  const TensorId first = node.operands[0], second = node.operands[1];
  const DType dtype = b.type(first).dtype;
  if (!is_float(dtype)) return {kNoTensor, kNoTensor};
  const TensorId tie = b.op("equal", {first, second}), first_wins = b.op(wins, {first, second});
  const TensorId zero = b.constant(0, dtype);
  const TensorId half = b.op("mul", {gradient, b.constant(0.5, dtype)});
  const TensorId of_first = b.op("where", {tie, half, b.op("where", {first_wins, gradient, zero})});
  const TensorId of_second = b.op("where", {tie, half, b.op("where", {first_wins, zero, gradient})});
  return {gradient_of(b, first, of_first), gradient_of(b, second, of_second)};
}

TensorId gradient_of(GraphBuilder& b, TensorId operand, TensorId gradient) {
  if (!is_float(b.type(operand).dtype)) return kNoTensor;
  const Dims dims = b.dims(operand);
  return reduce_to(b, gradient, dims);
}

}  // namespace mtfc
