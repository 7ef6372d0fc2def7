#include "core/op_rules/elementwise.h"

#include <algorithm>
#include <utility>

#include "core/op_rules/operation_rules.h"

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

TensorId gradient_of(GraphBuilder& b, TensorId operand, TensorId gradient) {
  if (!is_float(b.type(operand).dtype)) return kNoTensor;
  const Dims dims = b.dims(operand);
  return reduce_to(b, gradient, dims);
}

}  // namespace mtfc
