#include "formats/json/schema_parts.h"

#include <utility>

#include "core/tensors/sharding.h"

namespace mtfc::schema_parts {

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

Json described_type(const char* type, const std::string& description) {
  Json json = {{"type", type}};
  if (!description.empty()) json["description"] = description;
  return json;
}
Json text(const std::string& description) {
  return described_type("string", description);
}
Json whole(const std::string& description) {
  Json json = described_type("integer", description);
  json["minimum"] = 0;
  return json;
}
Json any_whole(const std::string& description) {
  return described_type("integer", description);
}
Json real(const std::string& description) {
  return described_type("number", description);
}
Json flag(const std::string& description) {
  return described_type("boolean", description);
}
Json list_of(const Json& item, const std::string& description) {
  Json json = described_type("array", description);
  json["items"] = item;
  return json;
}
Json texts(const std::string& description) {
  return list_of({{"type", "string"}}, description);
}
Json or_null(const Json& value) {
  return {{"anyOf", {value, {{"type", "null"}}}}};
}
Json version() {
  return {{"const", 1}, {"description", "the version of this format"}};
}
Json record(const Json& properties) {
  Json named = Json::object();
  std::vector<std::string> required;
  for (const auto& [key, value] : properties.object_members()) {
    const bool is_optional = key.ends_with('?');
    const std::string name = key.substr(0, key.size() - (is_optional ? 1 : 0));
    if (!is_optional) required.push_back(name);
    named[name] = value;
  }
  return object_schema(std::move(named), required);
}
Json with_description(Json schema, const std::string& description) {
  schema["description"] = description;
  return schema;
}

Json named_value(const Json& value) {
  return {
      {"type", "array"}, {"prefixItems", {{{"type", "string"}}, value}}, {"minItems", 2}, {"maxItems", 2}};
}

// -- what several outputs have --

namespace {

Json shared_definitions() {
  const Json axes = texts("names of axes, major first");
  return {{"mesh",
           list_of(named_value({{"type", "integer"}, {"minimum", 1}}), "axes and their sizes, major first")},
          {"axes", axes},
          {"splits", map_schema(axes, "split dimensions, each with its axes")},
          {"partial", map_schema(name_of<ReduceKind>(), "axes over which the tensor is still to be reduced")},
          {"dims", map_schema({{"type", "integer"}, {"minimum", 0}}, "dimensions and their sizes, in order")},
          {"interval",
           {{"type", "array"},
            {"items", {{"type", "integer"}}},
            {"minItems", 2},
            {"maxItems", 2},
            {"description", "the first index, and the one after the last"}}},
          {"limited_rules", list_of({{"type", "array"},
                                     {"prefixItems", {{{"type", "string"}}, axes, record({{"in", text()}})}},
                                     {"minItems", 3},
                                     {"maxItems", 3}},
                                    "rules for tensors that match a pattern")}};
}

}  // namespace

std::string output_schema(const std::string& title, const std::string& description, const Json& body,
                          const Json& definitions) {
  const bool refers = body.dump().find("$ref") != std::string::npos;
  Json all = refers ? shared_definitions() : Json::object();
  if (!definitions.empty()) all.update(definitions);
  return schema_text(schema_head(title, description), body, all);
}
}  // namespace mtfc::schema_parts
