#include "core/op_rules/reduction.h"

#include "core/op_rules/example.h"

namespace mtfc {
namespace {

Dims kept_dims(const OpCall& call) {
  const Dims& all = call.operands[0].dims;
  const AttributeValue* over = call.attributes.find("over");
  const AttributeValue* dims = call.attributes.find("dims");
  if (over && dims) throw OpError{"'over' and 'dims' exclude each other", "use one of them", -1, "dims"};
  if (!over && !dims) return {};
  const std::string_view name = over ? "over" : "dims";
  const Dims& given = std::get<Dims>(over ? *over : *dims);
  require_known(given, all, to_string(call.operands[0]), name);
  require_distinct(given, name);
  if (over) return without(all, given);
  Dims kept;
  for (const Dim& dim : given) kept.push_back(all[static_cast<size_t>(position(all, dim.name))]);
  return kept;
}

template <ReduceKind kind>
std::vector<Factor> reduction_factors(const OpCall& call, std::span<const TensorType> results) {
  std::vector<Factor> factors = pass_factors(call, results);
  for (const Dim& dim : without(call.operands[0].dims, results[0].dims))
    factors.push_back(factor(dim.name, Factor::Kind::kReduce, call, results, kind));
  return factors;
}

using FactorRule = std::vector<Factor> (*)(const OpCall& call, std::span<const TensorType> results);

FactorRule factors_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return reduction_factors<ReduceKind::kSum>;
    case ReduceKind::kProd:
      return reduction_factors<ReduceKind::kProd>;
    case ReduceKind::kMax:
      return reduction_factors<ReduceKind::kMax>;
    case ReduceKind::kMin:
      return reduction_factors<ReduceKind::kMin>;
  }
  throw InternalError("a reduction of no kind");
}

std::vector<Example> family_examples(bool of_bools) {
  const auto use = [&](std::string_view dims, Attributes attributes, DType dtype = DType::kF64) {
    return Example{{of_bools ? flags(dims) : normal(dims, dtype)}, std::move(attributes)};
  };
  return {
      use("batch=5 hidden=7", {}),
      use("batch=5 hidden=7", {{"over", dims_of("hidden=7")}}),
      use("batch=5 hidden=7", {{"over", dims_of("batch=5")}}),
      use("a=3 b=5 c=7", {{"over", dims_of("b=5")}}),
      use("a=3 b=5 c=7", {{"over", dims_of("c=7 a=3")}}),
      use("a=3 b=5 c=7", {{"dims", dims_of("c=7 a=3")}}),
      use("batch=5 hidden=7", {{"over", dims_of("hidden=7")}}, DType::kF32),
      use("", {}),
  };
}

}  // namespace

OpDef reduction(ReduceKind kind, FamilyMember member) {
  member.attributes = {kReductionOver, kReductionDims};
  std::vector<Example> examples = family_examples(member.infer == infer_bool_reduction);
  member.examples.insert(member.examples.begin(), examples.begin(), examples.end());
  member.roles = factors_of(kind);
  member.flops = operand_elements;
  return family_member(Family::kReduction, std::move(member));
}

std::vector<TensorType> infer_number_reduction(const OpCall& call) {
  require_numbers(call);
  return {{call.operands[0].dtype, kept_dims(call)}};
}

std::vector<TensorType> infer_float_reduction(const OpCall& call) {
  require_floats(call);
  return {{call.operands[0].dtype, kept_dims(call)}};
}

std::vector<TensorType> infer_bool_reduction(const OpCall& call) {
  require_bools(call);
  return {{DType::kBool, kept_dims(call)}};
}

std::vector<TensorId> extremum_gradient(GraphBuilder& b, const Node& node,
                                        std::span<const TensorId> gradients) {
  const TensorType from = b.type(node.operands[0]);
  if (!is_float(from.dtype)) return {kNoTensor};
  const Dims kept = b.dims(node.results[0]);
  const TensorId reached = b.op("equal", {node.operands[0], node.results[0]});
  const TensorId ties =
      b.op("reduce_sum", {b.op("cast", {reached}, {{"dtype", from.dtype}})}, {{"dims", kept}});
  const TensorId share = b.op("div", {gradients[0], ties});
  return {b.op("where", {reached, share, b.constant(0, from.dtype)})};
}

}  // namespace mtfc
