#include "formats/reference/schema_writer.h"

#include <fmt/format.h>

#include <vector>

#include "core/cost/hardware.h"
#include "core/graph/op_registry.h"
#include "formats/json/ordered_json.h"
#include "formats/reference/operation_schema.h"
#include "formats/reference/schema_parts.h"

namespace mtfc {
namespace {

// What every schema begins with.
Json schema(const std::string& title, const std::string& description) {
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", title},
          {"description", description}};
}

std::string text_of(Json head, const Json& body, const Json& definitions) {
  head.update(body);
  if (!definitions.empty()) head["$defs"] = definitions;
  return dump_lines(head, kAllLevels, 2);
}

Json input_schema() {
  return object_schema({{"dims", reference("names")}, {"dtype", reference("dtype")}, {"doc", text_schema()}},
                       {"dims"});
}

Json variable_schema() {
  return object_schema(
      {{"dims", reference("names")},
       {"dtype", reference("dtype")},
       {"init", reference("init")},
       {"trainable",
        {{"type", "boolean"}, {"description", "whether the optimizer changes it: true unless stated"}}},
       {"cache",
        {{"type", "boolean"},
         {"description", "of decode, zero before the first token: not the model's own"}}},
       {"when", reference("condition")},
       {"doc", text_schema()}},
      {"dims"});
}

Json init_schema() {
  const Json number = reference("number"),
             scaling = object_schema({{"scale", number},
                                      {"mode", {{"enum", {"fan_in", "fan_out", "fan_avg"}}}},
                                      {"in", reference("names")},
                                      {"doc", text_schema()}},
                                     {"in"});
  Json distribution =
      object_schema({{"normal", number},
                     {"truncated_normal", number},
                     {"uniform", {{"type", "array"}, {"items", number}, {"minItems", 2}, {"maxItems", 2}}},
                     {"variance_scaling", scaling}},
                    {});
  distribution["minProperties"] = distribution["maxProperties"] = 1;
  return {{"description", "initial values"},
          {"anyOf", {{{"type", "number"}}, {{"enum", {"zeros", "ones"}}}, std::move(distribution)}}};
}

Json block_schema() {
  return object_schema(
      {{"doc", text_schema()},
       {"dims",
        map_schema({{"type", "string"}}, "formal dimensions, and the dimension that each stands for")},
       {"params", map_schema(reference("number"), "and their values unless a call binds others")},
       {"in", reference("one_or_more_names")},
       {"out", reference("one_or_more_names")},
       {"variables", map_schema(reference("variable"), "of each call anew")},
       {"ops", reference("ops")}},
      {"out", "ops"});
}

Json decode_schema() {
  const Json input = reference("input");
  return object_schema({{"doc", text_schema()},
                        {"inputs", object_schema({{"token", input}, {"position", input}, {"seen", input}},
                                                 {"token", "position"})},
                        {"variables", map_schema(reference("variable"), "caches")},
                        {"ops", reference("ops")},
                        {"outputs", object_schema({{"logits", {{"type", "string"}}}}, {"logits"})}},
                       {"inputs", "ops", "outputs"});
}

Json train_schema() {
  const Json patterns = {{"type", "array"}, {"items", {{"type", "string"}}}};
  return object_schema({{"loss", {{"type", "string"}, {"description", "the scalar to make small"}}},
                        {"optimizer", reference("optimizer")},
                        {"clip_norm", reference("number")},
                        {"microbatches", reference("size")},
                        {"no_decay", patterns},
                        {"shard_state_over", patterns},
                        {"doc", text_schema()}},
                       {"loss", "optimizer"});
}

Json model_definitions() {
  Json definitions = {
      {"name", {{"type", "string"}, {"pattern", "^[A-Za-z_][A-Za-z0-9_/-]*$"}}},
      {"names", {{"type", "array"}, {"items", {{"type", "string"}}}, {"uniqueItems", true}}},
      {"one_or_more_names",
       {{"anyOf",
         {reference("name"), {{"type", "array"}, {"items", reference("name")}, {"uniqueItems", true}}}}}},
      {"number",
       {{"type", {"number", "string"}}, {"description", "a number, or an expression over params and dims"}}},
      {"size",
       {{"description", "a whole number above 0, or an expression over params and dims"},
        {"anyOf", {{{"type", "integer"}, {"minimum", 1}}, {{"type", "string"}}}}}},
      {"condition",
       {{"type", {"number", "string"}},
        {"description", "an expression: where it comes out 0, this does not exist"}}},
      {"dtype", {{"enum", enum_names<DType>()}}},
      {"input", input_schema()},
      {"variable", variable_schema()},
      {"init", init_schema()},
      {"block", block_schema()},
      {"optimizer", optimizer_schema()},
      {"schedule", schedule_schema()}};
  add_operation_definitions(definitions);
  return definitions;
}

Json axes_schema() {
  return {{"anyOf",
           {{{"type", "string"}},
            {{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 1}, {"uniqueItems", true}}}}};
}

Json above_zero(const std::string& description) {
  return {{"type", "number"}, {"exclusiveMinimum", 0}, {"description", description}};
}

Json curve_schema(Json value, const std::string& description) {
  return {{"description", description + "; a list is by size: [[size, value], ...], sizes ascending"},
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

Json product_table_schema(const Json& share) {
  const Json sizes = {{"type", "array"}, {"minItems", 1}, {"items", above_zero("size, ascending")}};
  return object_schema({{"m", sizes},
                        {"n", sizes},
                        {"k", sizes},
                        {"share",
                         {{"type", "array"},
                          {"description", "of a product [m, k] x [k, n], for all m, n and k: k fastest"},
                          {"items", share}}}},
                       {"m", "n", "k", "share"});
}

Json rate_properties() {
  return {{"latency_s", {{"type", "number"}, {"minimum", 0}, {"description", "alpha"}}},
          {"bytes_per_s", curve_schema(above_zero("bytes per second"),
                                       "bandwidth of a device along the axis, by bytes sent")}};
}

Json link_schema() {
  Json properties = rate_properties();
  properties["overlaps"] = {{"type", "boolean"},
                            {"description", "whether kernels run while it moves data: true unless stated"}};
  Json kinds = Json::object();
  for (const char* kind : {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "exchange"})
    kinds[kind] = object_schema(rate_properties(), {"latency_s", "bytes_per_s"});
  properties["collectives"] = object_schema(kinds, {});
  properties["collectives"]["description"] = "those that differ, by kind";
  properties["doc"] = text_schema();
  return object_schema(properties, {"latency_s", "bytes_per_s"});
}

}  // namespace

std::string model_schema() {
  const Json body = object_schema(
      {{"mtfc", {{"const", 1}, {"description", "the version of the format"}}},
       {"name", text_schema()},
       {"doc", text_schema()},
       {"include", {{"type", "array"}, {"items", {{"type", "string"}, {"minLength", 1}}}}},
       {"params", map_schema(reference("number"), "numbers, or expressions over other params and dims")},
       {"dims", map_schema(reference("size"), "every dimension and its size")},
       {"inputs", map_schema(reference("input"), "what is fed at each step")},
       {"variables", map_schema(reference("variable"), "what is kept between steps")},
       {"blocks", map_schema(reference("block"), "sub-graphs to use several times")},
       {"ops", reference("ops")},
       {"train", train_schema()},
       {"outputs", {{"type", "array"}, {"items", {{"type", "string"}}}, {"uniqueItems", true}}},
       {"data", map_schema({{"type", "string"}}, "where an input comes from, as after --input NAME=")},
       {"decode", decode_schema()}},
      {"mtfc"});
  return text_of(schema("mtfc model", "What to compute, on whole tensors"), body, model_definitions());
}

std::string layout_schema() {
  const Json rule = {{"type", "array"},
                     {"prefixItems", {{{"type", "string"}, {"description", "a dimension"}}, axes_schema()}},
                     {"minItems", 2},
                     {"maxItems", 2}};
  const Json body = object_schema(
      {{"mesh",
        {{"type", "object"},
         {"description", "axes and their sizes, major first"},
         {"propertyNames", {{"pattern", "^[A-Za-z_][A-Za-z0-9_]*$"}}},
         {"additionalProperties", {{"type", "integer"}, {"minimum", 1}}}}},
       {"rules",
        {{"type", "array"},
         {"items", rule},
         {"description", "[dimension, axis], or [dimension, [axis, axis, ...]]"}}},
       {"shardings", {{"type", "object"}, {"maxProperties", 0}}},
       {"propagate", {{"const", false}}},
       {"device_order",
        {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"uniqueItems", true}}},
       {"doc", text_schema()}},
      {});
  return text_of(schema("mtfc layout", "Which dimensions are split over which axes of the mesh"), body, {});
}

std::string hardware_schema() {
  const Json link = link_schema();
  const Json two_level = object_schema({{"kind", {{"const", "two_level"}}},
                                        {"devices_per_node", {{"type", "integer"}, {"minimum", 1}}},
                                        {"inside", link}},
                                       {"kind", "devices_per_node"});
  Json kernels = {{"enum", kernel_classes()}};
  for (const OpDef* op : all_ops()) kernels["enum"].push_back(std::string(op->signature.name));
  const Json share = {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}};
  const Json products = {
      {"anyOf", {curve_schema(share, "by the operations of one product"), product_table_schema(share)}}};
  const Json body = object_schema(
      {{"name", text_schema()},
       {"doc", text_schema()},
       {"flops",
        {{"type", "object"},
         {"description", "operations per second of one device, by dtype"},
         {"propertyNames", {{"enum", {"f32", "f64", "i32", "i64", "bool", "bf16"}}}},
         {"minProperties", 1},
         {"additionalProperties", above_zero("of that dtype")}}},
       {"memory_bytes", above_zero("of one device")},
       {"memory_bandwidth", curve_schema(above_zero("bytes per second"),
                                         "bytes per second that one device reads, by the bytes that were "
                                         "touched since the same ones were")},
       {"write_bandwidth",
        curve_schema(above_zero("bytes per second"), "of what is only written; absent: as for reading")},
       {"overlap",
        {{"type", "number"},
         {"minimum", 0},
         {"maximum", 1},
         {"description", "share of the shorter of arithmetic and memory traffic that the longer hides"}}},
       {"step_overhead_s", {{"type", "number"}, {"minimum", 0}, {"description", "of every kernel"}}},
       {"efficiency",
        {{"type", "object"},
         {"description", "share of the peak that an operation, or a class of kernels, reaches"},
         {"propertyNames", std::move(kernels)},
         {"properties", {{"einsum", products}, {"batched_einsum", products}}},
         {"additionalProperties",
          curve_schema(share, "by the operations that it does, for products by those of one product")}}},
       {"axes",
        {{"type", "object"},
         {"description", "by axis of the mesh, or \"*\" for all others"},
         {"additionalProperties", link}}},
       {"topology", {{"anyOf", {{{"enum", {"fully_connected", "ring", "torus"}}}, two_level}}}}},
      {"name", "flops", "memory_bytes", "memory_bandwidth", "axes"});
  return text_of(schema("mtfc hardware profile", "What a device and its links can do"), body, {});
}

}  // namespace mtfc
