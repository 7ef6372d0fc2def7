#pragma once
// Reads the attributes of an operation and checks them against its signature.

#include <optional>

#include "core/graph/attributes.h"
#include "core/graph/op_def.h"
#include "formats/json/cursor.h"
#include "formats/model/model_scope.h"

namespace mtfc {

/// Returns the attributes among the keys of the operation at `at`. Records errors and returns nullopt if a
/// key is neither an attribute nor common to all operations, a value has the wrong type, or a required
/// attribute is missing.
std::optional<Attributes> read_attributes(const Cursor& at, const Signature& signature,
                                          const ModelScope& scope);

}  // namespace mtfc
