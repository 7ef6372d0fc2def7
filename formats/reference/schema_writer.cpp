#include "formats/reference/schema_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/cost/hardware_keys.h"
#include "core/graph/op_registry.h"
#include "core/program/program.h"
#include "formats/json/ordered_json.h"
#include "formats/json/schema_parts.h"
#include "formats/reference/operation_schema.h"

namespace mtfc {
namespace {

using namespace schema_parts;

// The text of the schema of a file that people write. It may name its schema.
std::string file_schema_text(const Json& head, Json body, const Json& definitions) {
  body["properties"]["$schema"] = text("the schema of this file, for editors");
  return schema_text(head, body, definitions);
}

Json axes_schema() {
  return {
      {"anyOf", {text(), {{"type", "array"}, {"items", text()}, {"minItems", 1}, {"uniqueItems", true}}}}};
}

Json sharding_schema() {
  return map_schema(axes_schema(),
                    "the complete sharding of the tensor: each split dimension with its axes, major "
                    "first; {} replicates the tensor");
}

Json input_schema() {
  return object_schema({{"dims", reference("names")},
                        {"dtype", reference("dtype")},
                        {"sharding", reference("sharding")},
                        {"when", reference("condition")},
                        {"doc", text("for people")}},
                       {"dims"});
}

// One schema for lists and one for other values. With "anyOf", a mistake would be blamed on the whole value.
Json if_list(const Json& list, const Json& other) {
  return {{"if", {{"type", "array"}}}, {"then", list}, {"else", other}};
}

Json declaration_schema() {
  return object_schema(
      {{"dims", reference("names")},
       {"dtype", reference("dtype")},
       {"init", reference("init")},
       {"trainable", flag("true (the default) if the optimizer changes it")},
       {"cache", flag("true for a cache of decode, which is zero before the first token")},
       {"holds",
        {{"type", "string"},
         {"minLength", 1},
         {"description",
          "for a cache of decode that has the value of a tensor of the model before the first token: the "
          "name of the tensor, in the scope of the block"}}},
       {"prompt",
        {{"type", "string"},
         {"minLength", 1},
         {"description",
          "for a cache of decode: the name of the tensor of the model that fills its places for all "
          "positions of a prompt at once, in the scope of the block, or with ../ in one around it"}}},
       {"group",
        {{"type", "string"},
         {"minLength", 1},
         {"description", "a name under which reports show its memory apart from that of others"}}},
       {"when", reference("condition")},
       {"sharding", reference("sharding")},
       {"doc", text("for people")}},
      {"dims"});
}

Json variable_schema() {
  const Json one = declaration_schema();
  return if_list({{"items", one},
                  {"minItems", 1},
                  {"description", "declarations of one name, of which \"when\" chooses one"}},
                 one);
}

Json init_schema() {
  const Json number = reference("number"),
             scaling = object_schema({{"scale", number},
                                      {"mode", {{"enum", {"fan_in", "fan_out", "fan_avg"}}}},
                                      {"in", reference("names")},
                                      {"doc", text("for people")}},
                                     {"in"});
  Json distribution =
      object_schema({{"normal", number},
                     {"truncated_normal", number},
                     {"uniform", {{"type", "array"}, {"items", number}, {"minItems", 2}, {"maxItems", 2}}},
                     {"variance_scaling", scaling}},
                    {});
  distribution["minProperties"] = distribution["maxProperties"] = 1;
  return {{"description", "initial values"},
          {"anyOf", {described(number, "zeros, ones, a number, or an expression"), std::move(distribution)}}};
}

Json block_schema() {
  return object_schema(
      {{"doc", text("for people")},
       {"dims",
        map_schema(
            text(),
            "formal dimensions, each with the dimension that it stands for unless a call binds another")},
       {"params", map_schema(reference("param"),
                             "params, each with the value that it has unless a call binds another")},
       {"in", reference("one_or_more_names")},
       {"out", reference("one_or_more_names")},
       {"variables", map_schema(reference("variable"), "the variables that each call creates")},
       {"ops", reference("ops")},
       {"backward", text("the block that gives the gradients of this one's inputs and variables")}},
      {"out", "ops"});
}

Json decode_schema() {
  const Json input = reference("input");
  return object_schema({{"doc", text("for people")},
                        {"inputs", object_schema({{"token", input}, {"position", input}, {"seen", input}},
                                                 {"token", "position"})},
                        {"variables", map_schema(reference("variable"), "caches")},
                        {"ops", reference("ops")},
                        {"outputs", object_schema({{"logits", text()}}, {"logits"})},
                        {"equal_if", reference("condition")}},
                       {"inputs", "ops", "outputs"});
}

Json train_schema() {
  const Json patterns = texts();
  const Json optimizer = reference("optimizer");
  return object_schema({{"loss", text("the scalar to minimize")},
                        {"optimizer", if_list({{"items", optimizer},
                                               {"minItems", 1},
                                               {"description", "optimizers of which \"when\" chooses one"}},
                                              optimizer)},
                        {"clip_norm", reference("number")},
                        {"microbatches", reference("size")},
                        {"no_decay", patterns},
                        {"lr_factors", lr_factors_schema()},
                        {"shard_state_over", patterns},
                        {"doc", text("for people")}},
                       {"loss", "optimizer"});
}

Json model_definitions() {
  Json definitions = {
      {"name", {{"type", "string"}, {"pattern", "^[A-Za-z_][A-Za-z0-9_/-]*$"}}},
      {"names", {{"type", "array"}, {"items", text()}, {"uniqueItems", true}}},
      {"one_or_more_names",
       {{"anyOf",
         {reference("name"), {{"type", "array"}, {"items", reference("name")}, {"uniqueItems", true}}}}}},
      {"number",
       {{"type", {"number", "string"}}, {"description", "a number, or an expression over params and dims"}}},
      {"param",
       {{"type", {"number", "string", "array"}},
        {"items", {{"type", "number"}}},
        {"description", "a number, an expression over params and dims, or a list of numbers"}}},
      {"size",
       {{"description", "a whole number above 0, or an expression over params and dims"},
        {"anyOf", {{{"type", "integer"}, {"minimum", 1}}, text()}}}},
      {"condition",
       {{"type", {"number", "string"}},
        {"description", "an expression: if its value is 0, this does not exist"}}},
      {"dtype", {{"enum", model_dtypes()}}},
      {"input", input_schema()},
      {"variable", variable_schema()},
      {"init", init_schema()},
      {"block", block_schema()},
      {"optimizer", optimizer_schema()},
      {"sharding", sharding_schema()},
      {"schedule", schedule_schema()},
      {"rate", learning_rate_schema()}};
  add_operation_definitions(definitions);
  return definitions;
}

Json above_zero(const std::string& description) {
  return {{"type", "number"}, {"exclusiveMinimum", 0}, {"description", description}};
}

Json curve_schema(Json value, const std::string& description) {
  return {{"description",
           description + "; a list gives a value for each size, [[size, value], ...], in ascending order"},
          {"anyOf",
           {value,
            {{"type", "array"},
             {"minItems", 1},
             {"items",
              {{"type", "array"},
               {"prefixItems", {above_zero("size"), value}},
               {"minItems", 2},
               {"maxItems", 2}}}}}}};
}

Json table_schema(const Json& share, const std::vector<std::string>& dims) {
  Json properties;
  for (const std::string& dim : dims)
    properties[dim] = {{"type", "array"}, {"minItems", 1}, {"items", above_zero("size, ascending")}};
  properties["share"] = {
      {"type", "array"},
      {"description", fmt::format("the share of the peak for all sizes of {}; {} varies fastest",
                                  fmt::join(dims, ", "), dims.back())},
      {"items", share}};
  Json factors;
  for (const std::string& dim : dims) factors[dim] = curve_schema(above_zero("a factor"), "by " + dim);
  properties["factors"] = object_schema(factors, {});
  properties["factors"]["description"] = "of the share, by the size of one dimension";
  return object_schema(properties, {"share"});
}

Json part_schema(HardwarePart part, const std::string& doc);

struct FieldSchema {
  const std::string doc;

  template <typename Owner>
  Json operator()(std::string Owner::*) const {
    return text("for people");
  }
  template <typename Owner>
  Json operator()(bool Owner::*) const {
    return {{"type", "boolean"}, {"description", doc}};
  }
  template <typename Owner>
  Json operator()(const NumberField<Owner>& field) const {
    if (field.range == NumberRange::kAboveZero) return above_zero(doc);
    Json json = {{"type", "number"}, {"minimum", 0}};
    if (field.range == NumberRange::kZeroToOne) json["maximum"] = 1;
    if (field.range == NumberRange::kAtLeastOne) json["minimum"] = 1;
    json["description"] = doc;
    return json;
  }
  template <typename Owner>
  Json operator()(const CountField<Owner>&) const {
    return {{"type", "integer"}, {"minimum", 1}, {"description", doc}};
  }
  template <typename Owner>
  Json operator()(const CurveField<Owner>& field) const {
    return curve_schema(above_zero(std::string(field.unit)), doc);
  }
  template <typename Owner>
  Json operator()(const OptionalCurveField<Owner>& field) const {
    return curve_schema(above_zero(std::string(field.unit)), doc);
  }
  Json operator()(HardwarePart part) const { return part_schema(part, doc); }
};

template <typename Owner>
void add_properties(std::span<const HardwareKey<Owner>> keys, Json& properties) {
  for (const HardwareKey<Owner>& key : keys)
    properties[std::string(key.name)] = std::visit(FieldSchema{std::string(key.doc)}, key.field);
}

// The keys that objects need where no base has them.
std::vector<std::string> required_of_rates() {
  std::vector<std::string> required;
  append_key_names(rate_keys(), true, required);
  return required;
}

Json rate_schema() {
  Json properties;
  add_properties(rate_keys(), properties);
  return object_schema(properties, {});
}

Json link_schema() {
  Json properties;
  add_properties(rate_keys(), properties);
  add_properties(link_keys(), properties);
  return object_schema(properties, {});
}

Json whole_link() {
  return {{"required", required_of_rates()},
          {"properties", {{"collectives", {{"additionalProperties", {{"required", required_of_rates()}}}}}}}};
}

Json flops_schema(const std::string& doc) {
  return {{"type", "object"},
          {"description", doc},
          {"propertyNames", {{"enum", model_dtypes()}}},
          {"minProperties", 1},
          {"additionalProperties", above_zero("the rate of this dtype")}};
}

Json efficiency_schema(const std::string& doc) {
  std::vector<std::string> kernels = kernel_classes();
  for (const OpDef* op : all_ops())
    if (std::find(kernels.begin(), kernels.end(), op->signature.name) == kernels.end())
      kernels.emplace_back(op->signature.name);
  const Json share = {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}};
  Json by_shape = Json::object();
  for (const std::string& kernel : kernels)
    if (const std::vector<std::string> dims = table_dims(kernel); !dims.empty())
      by_shape[kernel] = {{"anyOf",
                           {curve_schema(share, dims[0] == "m" ? "by the number of operations of one product"
                                                               : "by " + dims[0]),
                            table_schema(share, dims)}}};
  return {{"type", "object"},
          {"description", doc},
          {"propertyNames", {{"enum", kernels}}},
          {"properties", std::move(by_shape)},
          {"additionalProperties",
           curve_schema(share, "by the number of operations of a kernel, or of one product of a batch")}};
}

Json topology_schema() {
  const Json two_level = object_schema({{"kind", {{"const", to_string(Topology::kTwoLevel)}}},
                                        {"devices_per_node", {{"type", "integer"}, {"minimum", 1}}},
                                        {"inside", link_schema()}},
                                       {"kind"});
  Json level = link_schema();
  level["properties"]["devices"] = {{"type", "integer"}, {"minimum", 1}};
  level["required"] = required_of_rates();
  level["required"].push_back("devices");
  const Json levels = object_schema(
      {{"kind", {{"const", "levels"}}}, {"levels", {{"type", "array"}, {"minItems", 1}, {"items", level}}}},
      {"kind", "levels"});
  return {{"anyOf", {{{"enum", plain_topologies()}}, two_level, levels}}};
}

Json collectives_schema(const std::string& doc) {
  Json kinds = Json::object();
  for (const std::string& kind : enum_names<CollectiveKind>()) kinds[kind] = rate_schema();
  Json schema = object_schema(kinds, {});
  schema["description"] = doc;
  return schema;
}

Json part_schema(HardwarePart part, const std::string& doc) {
  switch (part) {
    case HardwarePart::kNote:
      return text("for people");
    case HardwarePart::kBase:
      return text(doc);
    case HardwarePart::kFactors:
      return map_schema(above_zero("the factor"), doc);
    case HardwarePart::kFlops:
      return flops_schema(doc);
    case HardwarePart::kEfficiency:
      return efficiency_schema(doc);
    case HardwarePart::kAxes:
      return {{"type", "object"}, {"description", doc}, {"additionalProperties", link_schema()}};
    case HardwarePart::kTopology:
      return topology_schema();
    case HardwarePart::kCollectives:
      return collectives_schema(doc);
    case HardwarePart::kSources:
      return map_schema(text("where the value comes from; assumed"), doc);
  }
  throw InternalError("a hardware profile has an unknown part");
}

Json precision_schema() {
  const Json dtype = {{"enum", {"f32", "bf16"}}};
  return {{"anyOf",
           {dtype, object_schema({{"dtype", dtype},
                                  {"gradients", dtype},
                                  {"tensors", map_schema(dtype, "the dtype of tensors by patterns of names")},
                                  {"doc", text("for people")}},
                                 {})}},
          {"description", "bf16: mixed precision"}};
}

Json weights_schema() {
  const Json rule = text("FROM=TO, as after --map");
  return {{"type", "array"},
          {"description", "the names of the variables in published files"},
          {"items",
           {{"anyOf",
             {rule, object_schema({{"map", rule}, {"when", reference("condition")}}, {"map", "when"}),
              object_schema({{"merge", {{"type", "array"}, {"items", text()}}}}, {"merge"})}}}}};
}

Json found_for_schema() {
  Json found_for = object_schema(
      {{"model", text("its name")},
       {"sizes", map_schema(any_whole(), "of its dimensions, and its params that are whole numbers")}},
      {"model", "sizes"});
  found_for["description"] = "the model that a search has found the layout for";
  return found_for;
}

Json between_schema() {
  return {
      {"type", "array"},
      {"items",
       {{"type", "array"},
        {"prefixItems", {text("a dimension"), axes_schema()}},
        {"minItems", 2},
        {"maxItems", 2}}},
      {"description",
       "rules between parts, [dimension, axis]: they split activations over an axis that nothing else uses "
       "in them"}};
}

}  // namespace

std::string model_schema() {
  const Json body = object_schema(
      {{"mtfc", {{"const", 1}, {"description", "the version of the format"}}},
       {"name", text("for people")},
       {"doc", text("for people")},
       {"include", {{"type", "array"}, {"items", {{"type", "string"}, {"minLength", 1}}}}},
       {"params", map_schema(reference("param"),
                             "numbers, expressions over other params and dims, or lists of numbers")},
       {"dims", map_schema(reference("size"), "every dimension and its size")},
       {"inputs", map_schema(reference("input"), "the tensors fed at each step")},
       {"variables", map_schema(reference("variable"), "the tensors kept between steps")},
       {"blocks", map_schema(reference("block"), "sub-graphs that can be used several times")},
       {"ops", reference("ops")},
       {"train", train_schema()},
       {"outputs", {{"type", "array"}, {"items", text()}, {"uniqueItems", true}}},
       {"data", map_schema(text(), "the source of each input, as after --input NAME=")},
       {"precision", precision_schema()},
       {"decode", decode_schema()},
       {"weights", weights_schema()},
       {"import", {{"type", "object"}, {"description", "what the keys of a config.json mean"}}}},
      {"mtfc"});
  return file_schema_text(schema_head("mtfc model", "The computation, on whole tensors"), body,
                          model_definitions());
}

std::string layout_schema() {
  Json limit = object_schema({{"in", text("a tensor, or a pattern of names")}}, {"in"});
  limit["description"] = "limits the rule to the tensors whose names match";
  const Json rule = {{"type", "array"},
                     {"prefixItems", {text("a dimension"), axes_schema(), limit}},
                     {"minItems", 2},
                     {"maxItems", 3}};
  const Json axis_name = {{"type", "string"}, {"pattern", "^[A-Za-z_][A-Za-z0-9_]*$"}};
  const Json axis_size = {{"type", "integer"}, {"minimum", 1}};
  const Json axis = {
      {"type", "array"}, {"prefixItems", {axis_name, axis_size}}, {"minItems", 2}, {"maxItems", 2}};
  const Json body = object_schema(
      {{"mesh",
        if_list({{"items", axis}, {"description", "axes and their sizes, major first: [[axis, size], ...]"}},
                {{"type", "object"},
                 {"propertyNames", axis_name},
                 {"additionalProperties", axis_size},
                 {"description", "axes and their sizes, major first"}})},
       {"rules",
        {{"type", "array"},
         {"items", rule},
         {"description",
          "[dimension, axis], or [dimension, [axis, axis, ...]], or either with {\"in\": pattern}"}}},
       {"between", between_schema()},
       {"shardings",
        map_schema(sharding_schema(),
                   "annotations: the sharding of a tensor, or of all tensors whose names match a pattern")},
       {"propagate", flag("choose the shardings that neither rules nor annotations fix")},
       {"shard_state_over", axes_schema()},
       {"shard_gradients",
        flag("false: microbatches add up whole gradients, which are split when the last one is done")},
       {"shard_variables", flag("split the trained variables like the state of the optimizer")},
       {"regather",
        if_list({{"items", text()},
                 {"description", "patterns of variables that are gathered anew for the backward pass"}},
                text())},
       {"ring",
        map_schema(flag(),
                   "whether products run in turns, by the names of their results or patterns of names")},
       {"device_order", {{"type", "array"}, {"items", whole()}, {"uniqueItems", true}}},
       {"found_for", found_for_schema()},
       {"doc", text("for people")}},
      {});
  return file_schema_text(
      schema_head("mtfc layout", "Which dimensions are split over which axes of the mesh"), body, {});
}

// A profile without a base states all that a profile needs.
Json whole_profile() {
  std::vector<std::string> required;
  append_key_names(hardware_keys(), true, required);
  const Json two_level = {{"required", {"devices_per_node"}}, {"properties", {{"inside", whole_link()}}}};
  return {{"required", required},
          {"properties",
           {{"factors", {{"not", Json::object()}}},
            {"axes", {{"additionalProperties", whole_link()}}},
            {"topology",
             {{"if", {{"properties", {{"kind", {{"const", to_string(Topology::kTwoLevel)}}}}}}},
              {"then", two_level}}}}}};
}

std::string hardware_schema() {
  Json properties;
  add_properties(hardware_keys(), properties);
  Json body = object_schema(properties, {"name"});
  body["if"] = {{"required", {"base"}}};
  body["else"] = whole_profile();
  return file_schema_text(schema_head("mtfc hardware profile", "The capabilities of a device and its links"),
                          body, {});
}

}  // namespace mtfc
