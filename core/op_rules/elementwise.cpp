#include "core/op_rules/elementwise.h"

#include <algorithm>

#include "core/op_rules/operation_rules.h"

namespace mtfc {
namespace {

Dims natural_dims(std::span<const TensorType> operands) {
  Dims all;
  for (const TensorType& type : operands) all = unite(all, type.dims);
  const auto full = std::find_if(operands.begin(), operands.end(),
                                 [&](const TensorType& type) { return type.dims.size() == all.size(); });
  return full == operands.end() ? all : full->dims;
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
  return {{call.operands[0].dtype, aligned_dims(call)}};
}

std::vector<TensorType> infer_number_binary(const OpCall& call) {
  require_numbers(call);
  require_same_dtype(call);
  return {{call.operands[0].dtype, aligned_dims(call)}};
}

std::vector<TensorType> infer_bool_binary(const OpCall& call) {
  require_bools(call);
  return {{DType::kBool, aligned_dims(call)}};
}

std::vector<TensorType> infer_comparison(const OpCall& call) {
  require_numbers(call);
  require_same_dtype(call);
  return {{DType::kBool, aligned_dims(call)}};
}

TensorId gradient_of(GraphBuilder& b, TensorId operand, TensorId gradient) {
  if (!is_float(b.type(operand).dtype)) return kNoTensor;
  const Dims dims = b.dims(operand);
  return reduce_to(b, gradient, dims);
}

}  // namespace mtfc
