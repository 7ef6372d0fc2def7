#pragma once
// The attributes of an operation, read and checked by the specification in its signature.

#include <optional>

#include "core/graph/attributes.h"
#include "core/graph/op_def.h"
#include "formats/json/cursor.h"
#include "formats/model/model_scope.h"

namespace mtfc {

/// The attributes among the keys of the operation at `at`; errors, and nothing, for a key that is neither an
/// attribute nor one every operation has, for a value of another type and for a required one that is missing.
std::optional<Attributes> read_attributes(const Cursor& at, const Signature& signature,
                                          const ModelScope& scope);

}  // namespace mtfc
