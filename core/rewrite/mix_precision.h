#pragma once
// Mixed precision: a model whose tensors are f32 computes its products and activations in bf16.
//
//   - Variables, the state of the optimizer and losses stay f32. A variable that bf16 meets is cast once for each
//     graph.
//   - Products (einsum, conv, attention) take bf16 operands and accumulate in f32. Their results are bf16, but f32
//     where they only lead to the loss or to a softmax, as logits do.
//   - Other operations follow their operands. If bf16 meets variables, inputs and constants, the result is bf16. If it
//     meets a tensor that was computed in f32, the result is f32. Elements that are gathered from a variable are
//     activations, so bf16.
//   - A softmax of f32 whose result goes to products alone, perhaps through dropout, gives bf16: that of scores does.
//   - Sums and means give f32. Norms, softmax and dropout of bf16 compute in f32 inside (CompositeDef::in_f32).
//   - Caches of decode are bf16.
//
// As Mesh-TensorFlow's master, slice and activation types: f32, bf16 and bf16.

#include "core/model/model.h"

namespace mtfc {

/// The model in mixed precision. Tensors of other dtypes than f32 stay as they are.
Model mix_precision(Model model, const Precision& precision);

}  // namespace mtfc
