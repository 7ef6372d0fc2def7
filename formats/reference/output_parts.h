#pragma once
// The building blocks of the schemas of outputs (formats/reference/output_schemas.h), and what several outputs have.

#include <string>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "formats/json/ordered_json.h"
#include "formats/reference/schema_parts.h"

namespace mtfc::output_parts {

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
/// Definitions of the mesh, axes, splits, dimensions and intervals.
Json shared_definitions();
/// Adds a definition under a name.
Json& define(Json& definitions, const std::string& name, Json schema);
/// Adds the keys of a layout besides its mesh and rules, which may all be missing.
void add_layout_keys(Json& properties);

/// One of the names of an enum.
template <typename Enum>
Json name_of() {
  return {{"enum", enum_names<Enum>()}};
}

}  // namespace mtfc::output_parts
