#pragma once
// Reads `ops`: operations, calls and gradients become nodes of a graph, and `assign` an assignment. The results
// of a failed operation are known names without tensors, so that their uses report nothing.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/expression/expression.h"
#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

bool is_float_scalar(const TensorType& type);
/// The hint where a float scalar is needed, to differentiate it, and a tensor of `type` is given.
std::string scalar_hint(const TensorType& type);

/// The maximum nesting of operands.
inline constexpr int kDeepestOperand = 256;

/// Reads the list `ops`. Inputs and variables must have been defined.
void read_operations(const Cursor& ops, ModelDraft& draft);

}  // namespace mtfc
