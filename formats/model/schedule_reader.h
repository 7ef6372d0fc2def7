#pragma once
// `lr` as a schedule: {"schedule": "cosine", "peak": 1e-3, "warmup": 100, "steps": 2500, "end": 1e-4}.

#include <optional>

#include "core/model/learning_rate.h"
#include "formats/expression/expression.h"
#include "formats/json/cursor.h"

namespace mtfc {

/// Records errors and returns nullopt if there are any. `at` must be an object. Numbers that the type
/// `narrowest` can't hold are errors.
std::optional<Schedule> read_schedule(const Cursor& at, const NameLookup& lookup, DType narrowest);

}  // namespace mtfc
