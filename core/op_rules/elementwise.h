#pragma once
// Rules shared by the element-wise operations.
//
// Operands are aligned by the names of their dimensions. If one operand has every dimension of the others,
// the result has its dimensions in its order; otherwise the result has the union in order of first
// appearance. Example: add(x[batch, hidden], bias[hidden]) is [batch, hidden]; mul(u[i], v[j]) is [i, j].

#include <string_view>
#include <vector>

#include "core/op_rules/family.h"

namespace mtfc {

inline constexpr AttributeSpec kResultOrder = {"dims", AttributeType::kDims, false,
                                               "the order of the result's dimensions"};

/// The dimensions of the result. Throws OpError if the attribute `dims` is no permutation of them.
Dims aligned_dims(const OpCall& call);

/// An element-wise operation that states its operands, attributes and examples. The functions below have them for their
/// kinds of operations; examples of a member take the place of theirs.
OpDef elementwise(FamilyMember member);
/// One operand, whose type the result has: floats, any numbers, or bools.
OpDef float_unary(FamilyMember member);
OpDef number_unary(FamilyMember member);
OpDef bool_unary(FamilyMember member);
/// Two operands of one dtype, which is the result's.
OpDef float_binary(FamilyMember member);
OpDef number_binary(FamilyMember member);
OpDef bool_binary(FamilyMember member);
/// Two operands that are numbers of one dtype; a second integer that is 0 is refused when the operation runs.
OpDef checked_division(FamilyMember member);
/// Two operands of one dtype, whose elements are compared: numbers, or any for an equality. The result is bool.
OpDef comparison(std::string_view name, std::string_view doc);
OpDef equality(std::string_view name, std::string_view doc);

/// Uses of an operation of one operand, which is drawn by `maker`.
std::vector<Example> unary_examples(ExampleOperand (*maker)(std::string_view dims, DType dtype));

/// The gradient of an operation of one operand: that of the result times `slope(b, node)`, or kNoTensor if the operand
/// is no float. `slope` is a lambda without captures.
template <typename Slope>
constexpr GradientRule times_slope(Slope) {
  return [](GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) -> std::vector<TensorId> {
    if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
    return {b.op("mul", {gradients[0], Slope{}(b, node)})};
  };
}

/// The gradient of maximum or minimum. `wins` compares two operands, and is true where the first one is the result.
/// Operands that are equal take half of the gradient each.
std::vector<TensorId> winners_gradient(GraphBuilder& b, const Node& node, TensorId gradient,
                                       std::string_view wins);

/// `gradient` summed to the dimensions of `operand`; kNoTensor if `operand` is no float.
TensorId gradient_of(GraphBuilder& b, TensorId operand, TensorId gradient);

}  // namespace mtfc
