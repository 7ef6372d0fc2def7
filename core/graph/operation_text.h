#pragma once
// The JSON text of one operation, as it would appear in a model file. `mtfc ops` shows examples in this form.

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/attributes.h"

namespace mtfc {

/// `{"out": "y", "op": "gather", "in": ["table", "rows"], "dim": "vocab"}`. Names must not need escapes in
/// JSON.
std::string operation_text(std::string_view kind, const std::vector<std::string>& results,
                           const std::vector<std::string>& operands, const Attributes& attributes);

/// The value of an attribute, likewise.
std::string attribute_text(const AttributeValue& value);

}  // namespace mtfc
