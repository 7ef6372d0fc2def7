#pragma once
// `init` of a variable: its initial values.

#include <optional>

#include "core/model/model.h"
#include "formats/json/cursor.h"
#include "formats/model/model_scope.h"

namespace mtfc {

/// Records errors and returns nullopt if the value does not suit `type`. `variance_scaling` becomes the
/// truncated normal distribution that has the variance scale / fan after truncation at two standard
/// deviations.
std::optional<Init> read_init(const Cursor& at, const TensorType& type, const ModelScope& scope);

}  // namespace mtfc
