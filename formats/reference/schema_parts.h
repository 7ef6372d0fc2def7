#pragma once
// The building blocks of JSON Schemas.

#include <string>
#include <vector>

#include "formats/json/ordered_json.h"

namespace mtfc {

/// The beginning of every schema.
Json schema_head(const std::string& title, const std::string& description);
/// The text of a schema: its head, the keys of `body`, and the definitions if there are any.
std::string schema_text(Json head, const Json& body, const Json& definitions);
/// {"$ref": "#/$defs/NAME"}
Json reference(const std::string& name);
/// A string with text for people.
Json text_schema();
/// An object with these keys and no others.
Json object_schema(Json properties, const std::vector<std::string>& required);
/// An object with any keys, each with a value of this form.
Json map_schema(const Json& value, const std::string& description);

}  // namespace mtfc
