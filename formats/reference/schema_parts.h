#pragma once
// The forms that JSON Schemas are put together from.

#include <string>
#include <vector>

#include "formats/json/ordered_json.h"

namespace mtfc {

/// {"$ref": "#/$defs/NAME"}
Json reference(const std::string& name);
/// Words for people.
Json text_schema();
/// An object of these keys and no others.
Json object_schema(Json properties, const std::vector<std::string>& required);
/// An object of any keys, each with a value of this form.
Json map_schema(const Json& value, const std::string& description);

}  // namespace mtfc
