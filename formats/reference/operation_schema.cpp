#include "formats/reference/operation_schema.h"

#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/graph/op_registry.h"
#include "core/model/optimizer.h"
#include "formats/json/schema_parts.h"
#include "formats/reference/operation_reference.h"

namespace mtfc {
namespace {

using namespace schema_parts;

Json window_schema() {
  const Json name = text(), number = {{"type", {"integer", "string"}}};
  const auto described = [](Json schema, const char* doc) {
    schema["description"] = doc;
    return schema;
  };
  Json properties = {
      {"dim", described(name, "the dimension of the first operand along which the window slides")},
      {"taps", described(number, "the filter's dimension, or the number of taps of a pool")},
      {"to", described(name, "the result's dimension, one element for each place of the window")},
      {"pad", {{"enum", {"same", "valid"}}}}};
  for (const WindowNumber& key : window_numbers()) properties[key.key] = described(number, key.doc);
  return object_schema(std::move(properties), {"dim", "taps", "to"});
}

Json attribute_schema(AttributeType type) {
  const Json name = text(), names = {{"type", "array"}, {"items", name}};
  switch (type) {
    case AttributeType::kFlag:
      return {{"type", {"boolean", "string"}}};
    case AttributeType::kInteger:
      return {{"type", {"integer", "string"}}};
    case AttributeType::kNumber:
      return {{"type", {"number", "string"}}};
    case AttributeType::kText:
    case AttributeType::kDim:
      return name;
    case AttributeType::kDType:
      return reference("dtype");
    case AttributeType::kDims:
      return reference("names");
    case AttributeType::kOver:
      return {{"anyOf", {name, reference("names")}}};
    case AttributeType::kParts:
      return {{"anyOf", {name, names}}};
    case AttributeType::kRenaming:
      return {{"type", "object"}, {"additionalProperties", name}};
    case AttributeType::kWindows:
      return {{"type", "array"}, {"items", window_schema()}};
  }
  throw InternalError("an attribute type is not known");
}

Json described(const Json& schema, std::string_view doc) {
  // In some editors a description beside a reference would replace it, so it goes first.
  Json with = {{"description", doc}};
  with.update(schema);
  return with;
}

// One operand or a list of them, `least` to `most` (-1: any number).
Json operands_schema(int least, int most) {
  Json list = {{"type", "array"}, {"items", reference("operand")}, {"minItems", least}};
  if (most >= 0) list["maxItems"] = most;
  if (least > 1 || most == 0) return list;
  // "anyOf" would hide mistakes deep inside, so this uses "if".
  return {{"if", {{"type", "array"}}}, {"then", list}, {"else", reference("operand")}};
}

// The keys that every operation may have.
Json common_keys(std::string_view kind) {
  return {{"op", {{"const", kind}}},
          {"out", reference("one_or_more_names")},
          {"when", reference("condition")},
          {"sharding", reference("sharding")},
          {"doc", text("for people")}};
}

Json operation_definition(const Signature& signature) {
  Json properties = common_keys(signature.name);
  std::vector<std::string> required = {"op"};
  properties["in"] = operands_schema(signature.min_operands, signature.max_operands);
  properties["precision"] = described({{"enum", {"f32", "bf16"}}}, "that of the results in mixed precision");
  if (signature.min_operands > 0) required.emplace_back("in");
  for (const AttributeSpec& spec : signature.attributes) {
    if (spec.by_compiler) continue;
    properties[std::string(spec.name)] = described(attribute_schema(spec.type), spec.doc);
    if (spec.required) required.emplace_back(spec.name);
  }
  return described(object_schema(std::move(properties), required), signature.doc);
}

// `call`, `repeat` and `while`.
Json call_definition(const std::string& kind) {
  Json properties = common_keys(kind);
  std::vector<std::string> required = {"op"};
  const Json block = text("the name of a block");
  properties["in"] = operands_schema(0, -1);
  properties["bind"] = map_schema({{"type", {"number", "string"}}},
                                  "the block's dimensions and params, and what they are here");
  properties["scope"] = reference("name");
  for (const char* key : {"block", "body", "cond"}) {
    if ((key == std::string("block")) == (kind == "while")) continue;
    properties[key] = block;
    if (key != std::string("cond")) required.emplace_back(key);
  }
  if (kind != "while") properties["recompute"] = reference("condition");
  if (kind != "call") properties["times"] = {{"type", {"integer", "string"}}};
  if (kind == "repeat") {
    required.emplace_back("times");
    properties["index"] = text("what expressions in bind call the number of the call, from 0");
  }
  Json definition = object_schema(std::move(properties), required);
  if (kind == "while") definition["oneOf"] = {{{"required", {"cond"}}}, {{"required", {"times"}}}};
  return definition;
}

Json assign_definition() {
  return object_schema({{"op", {{"const", "assign"}}},
                        {"variable", text()},
                        {"in", operands_schema(1, 1)},
                        {"when", reference("condition")},
                        {"doc", text("for people")}},
                       {"op", "variable", "in"});
}

Json gradients_definition() {
  Json properties = common_keys("gradients");
  properties["of"] = text();
  properties["in"] = {{"anyOf", {text(), texts()}}};
  return object_schema(std::move(properties), {"op", "of", "in"});
}

Json statement_definition(const StatementKind& statement) {
  const Json definition = statement.name == "assign"      ? assign_definition()
                          : statement.name == "gradients" ? gradients_definition()
                                                          : call_definition(statement.name);
  return described(definition, statement.doc);
}

// An object with `op`, which determines its other keys.
Json by_kind(const std::vector<std::string>& kinds) {
  Json branches = Json::array();
  for (const std::string& kind : kinds)
    branches.push_back(
        {{"if", {{"properties", {{"op", {{"const", kind}}}}}}}, {"then", reference("op_" + kind)}});
  return {{"type", "object"},
          {"properties", {{"op", {{"enum", kinds}}}}},
          {"required", {"op"}},
          {"allOf", std::move(branches)}};
}

}  // namespace

void add_operation_definitions(Json& definitions) {
  std::vector<std::string> nested = operation_names(), all;
  for (const std::string& name : nested)
    definitions["op_" + name] = operation_definition(*find_signature(name));
  all = nested;
  for (const StatementKind& statement : statement_kinds()) {
    definitions["op_" + statement.name] = statement_definition(statement);
    all.push_back(statement.name);
    if (statement.name != "assign" && statement.name != "gradients") nested.push_back(statement.name);
  }
  Json statement = by_kind(all);
  statement["anyOf"] = {{{"required", {"out"}}}, {{"properties", {{"op", {{"const", "assign"}}}}}}};
  definitions["statement"] = std::move(statement);
  definitions["ops"] = {{"type", "array"}, {"items", reference("statement")}};
  Json inner = by_kind(nested);
  inner["not"] = {{"anyOf", {{{"required", {"out"}}}, {{"required", {"when"}}}}}};
  const Json expression =
      object_schema({{"expr", reference("number")}, {"doc", text("for people")}}, {"expr"});
  definitions["operand"] = {
      {"description", "a tensor, a number, {\"expr\": ...} for a number, or an operation without a name"},
      {"type", {"string", "number", "object"}},
      {"if", {{"type", "object"}}},
      {"then", {{"if", {{"required", {"expr"}}}}, {"then", expression}, {"else", inner}}}};
}

Json lr_factors_schema() {
  return map_schema(reference("rate"), "patterns of variables, each with the factor of their learning rate");
}

Json optimizer_schema() {
  std::vector<std::string> kinds;
  Json branches = Json::array();
  const Json patterns = texts();
  for (const OptimizerDef* optimizer : all_optimizers()) {
    kinds.emplace_back(optimizer->name);
    Json properties = {{"kind", {{"const", optimizer->name}}},
                       {"doc", text("for people")},
                       {"no_decay", patterns},
                       {"lr_factors", lr_factors_schema()},
                       {"when", reference("condition")},
                       {"shard_state_over", patterns}};
    std::vector<std::string> required = {"kind"};
    for (const NumberSetting& setting : optimizer->settings) {
      const bool is_rate = setting.name == "lr";
      const Json value = reference(is_rate ? "rate" : "number");
      properties[std::string(setting.name)] = described(value, setting.doc);
      if (!setting.fallback) required.emplace_back(setting.name);
    }
    if (optimizer->factors)
      properties["factored"] = map_schema(
          {{"type", "array"}, {"items", text()}, {"maxItems", 2}},
          "patterns of variables, each with the two dimensions over which means are kept, or none");
    branches.push_back({{"if", {{"properties", {{"kind", {{"const", optimizer->name}}}}}}},
                        {"then", described(object_schema(std::move(properties), required), optimizer->doc)}});
  }
  return {{"type", "object"},
          {"properties", {{"kind", {{"enum", kinds}}}}},
          {"required", {"kind"}},
          {"allOf", std::move(branches)}};
}

Json schedule_schema() {
  const Json number = reference("number"), steps = {{"type", {"integer", "string"}}};
  const Json common = {{"peak", number}, {"warmup", steps}, {"hold", steps}, {"doc", text("for people")}};
  Json rsqrt = {{"schedule", {{"const", "rsqrt"}}}}, curve = {{"schedule", {{"enum", {"cosine", "linear"}}}}};
  rsqrt.update(common);
  curve.update(common);
  curve["steps"] = steps;
  curve["end"] = number;
  Json falling = object_schema(std::move(rsqrt), {"schedule", "peak"});
  falling["anyOf"] = {{{"required", {"warmup"}}}, {{"required", {"hold"}}}};
  return {{"type", "object"},
          {"required", {"schedule"}},
          {"if", {{"properties", {{"schedule", {{"const", "rsqrt"}}}}}}},
          {"then", std::move(falling)},
          {"else", object_schema(std::move(curve), {"schedule", "peak", "steps"})}};
}

Json learning_rate_schema() {
  const Json factor = {{"anyOf", {reference("number"), reference("schedule")}}};
  const Json product = {{"type", "array"}, {"items", factor}};
  return {{"anyOf",
           {reference("number"), reference("schedule"),
            object_schema({{"product", product}, {"doc", text("for people")}}, {"product"})}}};
}

}  // namespace mtfc
