#pragma once
// The building blocks of JSON Schemas, and what the schemas of several outputs have (formats/json/output_object.h).

#include <string>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "formats/json/ordered_json.h"

namespace mtfc::schema_parts {

/// The beginning of every schema.
Json schema_head(const std::string& title, const std::string& description);
/// The text of a schema: its head, the keys of `body`, and the definitions if there are any.
std::string schema_text(Json head, const Json& body, const Json& definitions);
/// The text of the schema of an output, with definitions of the mesh, axes, splits, dimensions and intervals where it
/// refers to any.
std::string output_schema(const std::string& title, const std::string& description, const Json& body,
                          const Json& definitions = {});
/// {"$ref": "#/$defs/NAME"}
Json reference(const std::string& name);
/// An object with these keys and no others.
Json object_schema(Json properties, const std::vector<std::string>& required);
/// An object with any keys, each with a value of this form.
Json map_schema(const Json& value, const std::string& description);

/// A value of this JSON type; a description of "" is left out.
Json described_type(const char* type, const std::string& description);
Json text(const std::string& description = "");
/// A whole number from 0 on.
Json whole(const std::string& description = "");
/// Any whole number.
Json any_whole(const std::string& description = "");
Json real(const std::string& description = "");
Json flag(const std::string& description = "");
Json list_of(const Json& item, const std::string& description = "");
Json texts(const std::string& description = "");
Json or_null(const Json& value);
/// The key that says which version of a format a file has.
Json version();
/// An object with these keys. A key that is written with a question mark behind it, as in "score?", may be missing.
Json record(const Json& properties);
Json with_description(Json schema, const std::string& description);
/// A list of a name and a value.
Json named_value(const Json& value);

/// One of the names of an enum.
template <typename Enum>
Json name_of() {
  return {{"enum", enum_names<Enum>()}};
}

}  // namespace mtfc::schema_parts
