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
//   - Sums and means give f32. Norms, softmax and dropout of bf16 compute in f32 inside (CompositeDef::in_f32).
//   - Caches of decode are bf16.
//
// As Mesh-TensorFlow's master, slice and activation types: f32, bf16 and bf16.

#include <string>
#include <vector>

#include "core/model/model.h"

namespace mtfc {

/// The dtype that is asked for the tensors that a pattern matches (core/tensors/name_pattern.h).
struct TensorPrecision {
  std::string pattern;
  DType dtype = DType::kF32;  // f32 or bf16
};

struct Precision {
  /// Gradients of variables: bf16, so that devices add them in bf16, or f32, before they are rounded.
  DType gradients = DType::kBF16;
  std::vector<TensorPrecision> tensors = {};  // the first that matches decides
};

/// The model in mixed precision. Tensors of other dtypes than f32 stay as they are.
Model with_precision(Model model, const Precision& precision);

}  // namespace mtfc
