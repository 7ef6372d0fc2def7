#pragma once
// The key "precision" of a model file, and that of an operation, a dtype: "bf16", or {"dtype": "bf16", "gradients":
// "f32", "tensors": {pattern: dtype}}.

#include <optional>

#include "core/model/precision.h"
#include "formats/json/cursor.h"

namespace mtfc {

struct StatedPrecision {
  DType dtype = DType::kF32;  // bf16: mixed precision; f32: none, unless the command line asks for it
  Precision precision = {};
};

/// A dtype of mixed precision, f32 or bf16. Records an error for any other.
std::optional<DType> read_mixed_dtype(const Cursor& at);

/// Records an error for each pattern that matches no tensor of the model.
StatedPrecision read_precision(const Cursor& at, const Model& model);

}  // namespace mtfc
