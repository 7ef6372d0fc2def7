#pragma once
// Rules shared by the element-wise operations in core/ops/.
//
// Operands are aligned by the names of their dimensions. If one operand has every dimension of the others,
// the result has its dimensions in its order; otherwise the result has the union in order of first
// appearance. Example: add(x[batch, hidden], bias[hidden]) is [batch, hidden]; mul(u[i], v[j]) is [i, j].

#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kResultOrder = {"dims", AttributeType::kDims, false,
                                               "the order of the result's dimensions"};

/// The dimensions of the result. Throws OpError if the attribute `dims` is no permutation of them.
Dims aligned_dims(const OpCall& call);

/// One operand of the named kind; the result has its type.
std::vector<TensorType> infer_float_unary(const OpCall& call);
std::vector<TensorType> infer_number_unary(const OpCall& call);
std::vector<TensorType> infer_bool_unary(const OpCall& call);
/// Two operands of the same dtype, which is the result's.
std::vector<TensorType> infer_float_binary(const OpCall& call);
std::vector<TensorType> infer_number_binary(const OpCall& call);
std::vector<TensorType> infer_bool_binary(const OpCall& call);
/// Two operands that are numbers of the same dtype; the result is bool.
std::vector<TensorType> infer_comparison(const OpCall& call);

/// `gradient` summed to the dimensions of `operand`; kNoTensor if `operand` is no float.
TensorId gradient_of(GraphBuilder& b, TensorId operand, TensorId gradient);

}  // namespace mtfc
