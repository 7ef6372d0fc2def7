#include "formats/reference/output_parts.h"

#include <utility>

#include "core/tensors/sharding.h"

namespace mtfc::output_parts {

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

// A list of a name and a value.
Json named_value(const Json& value) {
  return {
      {"type", "array"}, {"prefixItems", {{{"type", "string"}}, value}}, {"minItems", 2}, {"maxItems", 2}};
}

// -- what several outputs have --

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

Json& define(Json& definitions, const std::string& name, Json schema) {
  definitions[name] = std::move(schema);
  return definitions;
}

void add_layout_keys(Json& properties) {
  properties.update({{"limited_rules?", reference("limited_rules")},
                     {"shardings?", map_schema(reference("splits"), "annotations by tensor or pattern")},
                     {"propagate?", flag()},
                     {"shard_state_over?", reference("axes")},
                     {"shard_gradients?", flag()},
                     {"shard_variables?", flag()},
                     {"regather?", texts()},
                     {"ring?", map_schema({{"type", "boolean"}}, "products that run in turns, or don't")},
                     {"device_order?", list_of(whole(), "the rank at each position of the mesh")}});
}

}  // namespace mtfc::output_parts
