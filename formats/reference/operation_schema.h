#pragma once
// The part of the model's JSON Schema that follows from the registries: operations with their attributes, and
// optimizers with their settings.

#include "formats/json/ordered_json.h"

namespace mtfc {

/// Adds `ops` (a list of statements), `operand`, `statement` and one definition for each kind, `op_KIND`.
void add_operation_definitions(Json& definitions);

/// The schema of `optimizer` in `train`, by its kind.
Json optimizer_schema();
/// The schema of `lr_factors`, which may stand in `train` or in the optimizer.
Json lr_factors_schema();
/// The schemas of a schedule, and of a learning rate: a number, a schedule or a product of these.
Json schedule_schema();
Json learning_rate_schema();

}  // namespace mtfc
