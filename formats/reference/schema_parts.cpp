#include "formats/reference/schema_parts.h"

namespace mtfc {

Json schema_head(const std::string& title, const std::string& description) {
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", title},
          {"description", description}};
}

std::string schema_text(Json head, const Json& body, const Json& definitions) {
  head.update(body);
  if (!definitions.empty()) head["$defs"] = definitions;
  return dump_lines(head, kAllLevels, 2);
}

Json reference(const std::string& name) {
  return {{"$ref", "#/$defs/" + name}};
}

Json text_schema() {
  return {{"type", "string"}, {"description", "for people"}};
}

Json object_schema(Json properties, const std::vector<std::string>& required) {
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

Json map_schema(const Json& value, const std::string& description) {
  Json schema = {{"type", "object"}, {"additionalProperties", value}};
  if (!description.empty()) schema["description"] = description;
  return schema;
}

}  // namespace mtfc
