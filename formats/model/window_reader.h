#pragma once
#include <optional>

#include "core/tensors/window.h"
#include "formats/json/cursor.h"
#include "formats/model/model_scope.h"

namespace mtfc {

/// Reads the windows of an operation: a list of objects, one for each spatial dimension. 'taps' is a dimension, or a
/// number or an expression; 'pad' stands in the place of 'low' and 'high'. Records errors and returns nullopt.
std::optional<Windows> read_windows(const Cursor& at, const ModelScope& scope);

}  // namespace mtfc
