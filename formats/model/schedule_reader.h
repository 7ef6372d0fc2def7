#pragma once
// A learning rate: a number, a schedule such as {"schedule": "cosine", "peak": 1e-3, "warmup": 100, "steps": 2500,
// "end": 1e-4}, or {"product": [...]} of these.

#include <optional>

#include "core/model/learning_rate.h"
#include "formats/expression/expression.h"
#include "formats/json/cursor.h"

namespace mtfc {

/// Records errors and returns nullopt if there are any. Numbers that the type `narrowest` can't hold are errors.
std::optional<LearningRate> read_learning_rate(const Cursor& at, const NameLookup& lookup, DType narrowest);

}  // namespace mtfc
