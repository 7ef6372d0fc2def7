#pragma once
// Rules shared by the element-wise operations in core/ops/.
//
// Operands are aligned by the names of their dimensions. If one operand has every dimension of the others,
// the result has its dimensions in its order; otherwise the result has the union in order of first
// appearance. Example: add(x[batch, hidden], bias[hidden]) is [batch, hidden]; mul(u[i], v[j]) is [i, j].

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kResultOrder = {"dims", AttributeType::kDims, false,
                                               "the order of the result's dimensions"};

/// The dimensions of the result. Throws OpError if the attribute `dims` is no permutation of them.
Dims aligned_dims(const OpCall& call);

/// One element-wise operation of a family: what the family leaves open.
struct ElementwiseOp {
  std::string_view name, doc;
  std::vector<Example> examples = {};  // those of the family if it is empty
  std::vector<WorkedExample> worked = {};
  std::vector<std::vector<int>> linear_in = {};
  GradientRule gradient = kNoGradient;
  OpTraits traits = {};
};
/// One operand, whose type the result has: floats, any numbers, or bools.
OpDef float_unary(ElementwiseOp op);
OpDef number_unary(ElementwiseOp op);
OpDef bool_unary(ElementwiseOp op);
/// Two operands of one dtype, which is the result's.
OpDef float_binary(ElementwiseOp op);
OpDef number_binary(ElementwiseOp op);
OpDef bool_binary(ElementwiseOp op);
/// Two operands that are numbers of one dtype; a second integer that is 0 is refused when the operation runs.
OpDef checked_division(ElementwiseOp op);
/// Two operands of one dtype, whose elements are compared: numbers, or any for an equality. The result is bool.
OpDef comparison(std::string_view name, std::string_view doc);
OpDef equality(std::string_view name, std::string_view doc);

/// Uses of an operation of one operand, which is drawn by `maker`.
std::vector<Example> unary_examples(ExampleOperand (*maker)(std::string_view dims, DType dtype));

/// The gradient of maximum or minimum. `wins` compares two operands, and is true where the first one is the result.
/// Where they are equal, each takes half of the gradient.
std::vector<TensorId> winners_gradient(GraphBuilder& b, const Node& node, TensorId gradient,
                                       std::string_view wins);

/// `gradient` summed to the dimensions of `operand`; kNoTensor if `operand` is no float.
TensorId gradient_of(GraphBuilder& b, TensorId operand, TensorId gradient);

}  // namespace mtfc
