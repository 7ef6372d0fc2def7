#include "formats/reference/output_schemas.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/cost/comparison.h"
#include "core/diagnostics/enum_names.h"
#include "core/model/learning_rate.h"
#include "core/program/placed_tensors.h"
#include "core/program/program.h"
#include "formats/json/ordered_json.h"
#include "formats/reference/schema_parts.h"

namespace mtfc {
namespace {

Json described_type(const char* type, const std::string& description) {
  Json json = {{"type", type}};
  if (!description.empty()) json["description"] = description;
  return json;
}
Json text(const std::string& description = "") {
  return described_type("string", description);
}
Json whole(const std::string& description = "") {
  Json json = described_type("integer", description);
  json["minimum"] = 0;
  return json;
}
Json any_whole(const std::string& description = "") {
  return described_type("integer", description);
}
Json real(const std::string& description = "") {
  return described_type("number", description);
}
Json flag(const std::string& description = "") {
  return described_type("boolean", description);
}
Json list_of(const Json& item, const std::string& description = "") {
  Json json = described_type("array", description);
  json["items"] = item;
  return json;
}
Json texts(const std::string& description = "") {
  return list_of({{"type", "string"}}, description);
}
Json or_null(const Json& value) {
  return {{"anyOf", {value, {{"type", "null"}}}}};
}
Json version() {
  return {{"const", 1}, {"description", "the version of this format"}};
}
template <typename Enum>
Json name_of() {
  return {{"enum", enum_names<Enum>()}};
}

// An object with these keys, of which those in `optional` may be missing.
Json record(Json properties, const std::vector<std::string>& optional = {}) {
  std::vector<std::string> required;
  for (const auto& [key, value] : properties.object_members())
    if (std::find(optional.begin(), optional.end(), key) == optional.end()) required.push_back(key);
  return object_schema(std::move(properties), required);
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

// The keys of a layout besides its mesh and rules; all may be missing.
const std::vector<std::string> kLayoutKeys = {
    "limited_rules",    "shardings",       "propagate", "device_order",
    "shard_state_over", "shard_variables", "regather",  "ring"};

void add_layout_keys(Json& properties) {
  properties.update({{"limited_rules", reference("limited_rules")},
                     {"shardings", map_schema(reference("splits"), "annotations by tensor or pattern")},
                     {"propagate", flag()},
                     {"shard_state_over", reference("axes")},
                     {"shard_variables", flag()},
                     {"regather", texts()},
                     {"ring", map_schema({{"type", "boolean"}}, "products that run in turns, or don't")},
                     {"device_order", list_of(whole(), "the rank at each position of the mesh")}});
}

// -- the cost report --

Json totals_schema() {
  return record({{"count", whole()}, {"elements", whole("per device")}, {"bytes_sent", whole("per device")}});
}

Json communication_schema() {
  const Json totals = reference("totals");
  return record({{"count", whole("collectives in a step")},
                 {"elements_per_device", whole()},
                 {"bytes_sent_per_device", whole()},
                 {"by_kind", map_schema(totals, "by kind of collective")},
                 {"by_axis", map_schema(totals, "by axis; rows+cols for a group over several")},
                 {"between_nodes", record({{"nodes", whole()},
                                           {"bytes_sent_per_node", whole("by the node that sends most")},
                                           {"bytes_sent", whole("by all nodes")},
                                           {"by_node", list_of(whole())}})}},
                {"between_nodes"});
}

Json memory_schema() {
  const Json groups = map_schema(record({{"variables", whole()}, {"optimizer_state", whole()}}),
                                 "the shares of groups of variables");
  return with_description(
      record({{"peak_bytes_per_device", whole()},
              {"device_bytes", whole("what a device may use")},
              {"fits", flag()},
              {"excess_bytes", whole("by how much the peak exceeds device_bytes")},
              {"variables", whole()},
              {"optimizer_state", whole()},
              {"caches", whole()},
              {"inputs", whole()},
              {"activations_at_peak", whole()},
              {"gradients", whole()},
              {"workspace", whole()},
              {"alignment_and_gaps", whole()},
              {"peak_step", text("the step at which the memory peaks")},
              {"groups", groups},
              {"largest_at_peak", list_of(record({{"name", text()}, {"kind", text()}, {"bytes", whole()}}),
                                          "the largest first")}},
             {"device_bytes", "fits", "excess_bytes", "groups"}),
      "bytes on a device; the parts from variables to alignment_and_gaps add up to the peak");
}

Json step_schema() {
  return record({{"name", text("of what it makes")},
                 {"kind", text("the operation or collective")},
                 {"source", text("JSON pointer of the operation in the model, or \"\"")},
                 {"phase", name_of<Phase>()},
                 {"axes", reference("axes")},
                 {"elements", whole()},
                 {"bytes_sent", whole("per device")},
                 {"flops", whole("on the device that computes most")},
                 {"seconds", real()},
                 {"begin_s", real()},
                 {"end_s", real()},
                 {"bound", text("what limits it")},
                 {"at_peak_s", real("at the peak rates of the hardware")}},
                {"seconds", "begin_s", "end_s", "bound", "at_peak_s"});
}

Json tensor_schema() {
  return record({{"name", text()},
                 {"dims", reference("dims")},
                 {"sharding", reference("splits")},
                 {"partial", reference("partial")},
                 {"local_shape", list_of(whole(), "on the device that is last on every axis")},
                 {"local_shape_min", list_of(whole(), "on the first device")}},
                {"partial"});
}

Json training_schema() {
  return record({{"tokens_per_step", whole()},
                 {"tokens_per_second", real()},
                 {"tokens", real("to train on")},
                 {"steps", real()},
                 {"seconds", real()},
                 {"device_hours", real()},
                 {"price", real()}},
                {"tokens", "steps", "seconds", "device_hours", "price"});
}

Json recomputation_schema() {
  return record({{"tensors", texts("that are computed again")},
                 {"seconds", real("that this takes")},
                 {"least_seconds", real("a bound on what it takes")},
                 {"step_before", real("the seconds of a step without it")},
                 {"peak_before", whole("the bytes at the peak without it")},
                 {"least_peak", whole("the bytes at the peak with as much of it as possible")}});
}

Json layout_report_schema() {
  Json properties = {{"model", text()},
                     {"entry", text("the entry point")},
                     {"mesh", reference("mesh")},
                     {"devices", whole()},
                     {"layout", reference("splits")}};
  add_layout_keys(properties);
  const Json groups = map_schema(whole(), "the elements of groups of variables");
  properties.update(
      {{"parameters",
        record({{"count", whole()}, {"bytes", whole()}, {"bytes_per_device", whole()}, {"groups", groups}},
               {"groups"})},
       {"flops", record({{"einsum_per_device", whole()},
                         {"einsum_total", whole("over all devices")},
                         {"einsum_useful", whole("of the model itself")},
                         {"other_per_device", whole()},
                         {"duplication", real("einsum_total over einsum_useful")},
                         {"imbalance", real("the busiest device over the mean")}})},
       {"communication", communication_schema()},
       {"recomputation", recomputation_schema()},
       {"plan", record({{"cost", whole()}, {"bound", any_whole()}, {"gap", real()}, {"hardware", text()}},
                       {"hardware"})},
       {"memory", memory_schema()},
       {"time", record({{"hardware", text("the profile")},
                        {"compute_s", real()},
                        {"communication_s", real()},
                        {"step_s", real()},
                        {"roofline_s", real()},
                        {"efficiency",
                         real("the MFU: useful products at the peak rate over the time of the step")}})},
       {"training", training_schema()},
       {"tensors", list_of(reference("tensor"))},
       {"steps", list_of(reference("step"))},
       {"warnings", texts()},
       {"better_device_order", record({{"axes", texts("the last one is inside the nodes")},
                                       {"device_order", list_of(whole())},
                                       {"step_s", real()}})}});
  std::vector<std::string> optional = kLayoutKeys;
  for (const char* key : {"recomputation", "plan", "time", "training", "better_device_order"})
    optional.push_back(key);
  return record(std::move(properties), optional);
}

Json impossible_schema() {
  return record({{"model", text()},
                 {"mesh", reference("mesh")},
                 {"devices", whole()},
                 {"layout", reference("splits")},
                 {"not_possible", text("why the layout is not legal for the model")}});
}

Json report_definitions() {
  Json definitions = shared_definitions();
  define(definitions, "totals", totals_schema());
  define(definitions, "step", step_schema());
  define(definitions, "tensor", tensor_schema());
  define(definitions, "report", layout_report_schema());
  return definitions;
}

// -- explanations --

Json place_schema() {
  return record({{"file", text()}, {"line", whole()}, {"pointer", text("JSON pointer")}});
}

Json form_schema() {
  return record({{"split", reference("splits")}, {"partial", reference("partial")}});
}

Json halos_schema() {
  return list_of(record({{"dim", text()},
                         {"shards", list_of(record({{"holds", reference("interval")},
                                                    {"reads", reference("interval")},
                                                    {"left", whole()},
                                                    {"right", whole()},
                                                    {"from_others", whole()}}))}}));
}

Json figures_schema() {
  return record({{"step_s", real("predicted, with --hardware")},
                 {"cost", whole("by which plans are chosen")},
                 {"bytes_sent_per_device", whole()},
                 {"collectives", whole()},
                 {"memory_bytes_per_device", whole()},
                 {"flops_per_device", whole()}},
                {"step_s"});
}

Json explained_reshard_schema() {
  const Json form = reference("form"), operation = reference("operation");
  return record({{"step", whole("the number of the step")},
                 {"tensor", text()},
                 {"dims", reference("dims")},
                 {"collective", name_of<CollectiveKind>()},
                 {"axes", reference("axes")},
                 {"bytes_sent_per_device", whole("in one run")},
                 {"runs", whole()},
                 {"from", form},
                 {"to", form},
                 {"halos", reference("halos")},
                 {"moves_pieces_for", text("the operation whose pieces are exchanged")},
                 {"maker", operation},
                 {"readers", list_of(operation)}},
                {"from", "to", "halos", "moves_pieces_for"});
}

Json reason_schema() {
  return record({{"by", text()}, {"text", text()}, {"place", reference("place")}}, {"text", "place"});
}

Json change_schema() {
  return record({{"text", text("for people")},
                 {"shardings", map_schema(reference("splits"), "annotations to add")},
                 {"removed", text("the pattern of an annotation to remove")},
                 {"propagate", flag()}},
                {"shardings", "removed", "propagate"});
}

Json explanation_definitions() {
  Json definitions = shared_definitions();
  define(definitions, "place", place_schema());
  define(definitions, "form", form_schema());
  define(definitions, "halos", halos_schema());
  define(definitions, "figures", figures_schema());
  define(definitions, "reason", reason_schema());
  define(definitions, "change", change_schema());
  define(
      definitions, "operation",
      record({{"operation", text()}, {"tensor", text()}, {"source", text()}, {"place", reference("place")}},
             {"source", "place"}));
  define(definitions, "reshard", explained_reshard_schema());
  return definitions;
}

Json explanation_head() {
  return {{"mtfc_explanation", version()},
          {"model", text()},
          {"entry", text("the entry point")},
          {"mesh", reference("mesh")}};
}

Json explained_list() {
  Json properties = explanation_head();
  properties.update({{"figures", reference("figures")}, {"reshards", list_of(reference("reshard"))}});
  return record(std::move(properties));
}

Json explained_step() {
  const Json figures = reference("figures"), change = reference("change");
  Json properties = explanation_head();
  properties.update({{"reshard", reference("reshard")},
                     {"figures", figures},
                     {"tried", whole("layouts that were compiled")},
                     {"removal", or_null(record({{"change", change},
                                                 {"figures", figures},
                                                 {"instead", list_of(reference("reshard"))}}))},
                     {"cheaper", record({{"change", change}, {"figures", figures}})}});
  return record(std::move(properties), {"cheaper"});
}

Json explained_tensor() {
  Json held = form_schema();
  held["properties"]["halos"] = reference("halos");
  Json properties = explanation_head();
  properties.update(
      {{"tensor", text()},
       {"dtype", text()},
       {"dims", reference("dims")},
       {"place", reference("place")},
       {"sharding", reference("form")},
       {"fixed", reference("reason")},
       {"figures", reference("figures")},
       {"splits", list_of(record({{"dim", text()},
                                  {"axes", reference("axes")},
                                  {"origin", reference("reason")},
                                  {"path", list_of(record({{"tensor", text()}, {"operation", text()}}))}}))},
       {"held", list_of(held, "other shardings in which devices hold the tensor")},
       {"alternatives",
        list_of(record({{"sharding", reference("splits")}, {"figures", reference("figures")}}))},
       {"untried", whole("candidates that were too many to compile")},
       {"reshards", list_of(reference("reshard"))}});
  return record(std::move(properties));
}

// -- search --

Json found_layout_schema() {
  return record({{"rank", whole("1 for the first")},
                 {"mesh", reference("mesh")},
                 {"devices", whole()},
                 {"layout", reference("splits")},
                 {"device_order", list_of(whole())},
                 {"time", record({{"step_s", real()},
                                  {"compute_s", real()},
                                  {"communication_s", real()},
                                  {"roofline_s", real()},
                                  {"efficiency", real()}})},
                 {"duplication", real()},
                 {"bytes_sent_per_device", whole()},
                 {"memory_bytes_per_device", whole()},
                 {"computed_again_s", real()},
                 {"same_figures", whole("other layouts with the same figures")},
                 {"variants", whole("other compiled layouts of the same family")},
                 {"slower_by_s", real()},
                 {"differences_s", map_schema({{"type", "number"}}, "by item")},
                 {"why", text("for people")}},
                {"device_order", "slower_by_s", "differences_s", "why"});
}

Json searched_rules() {
  const Json count = whole(), unknown = or_null(count);
  const Json counts = record({{"rule_sets", real()},
                              {"meshes", count},
                              {"legal", unknown},
                              {"mirror_images", unknown},
                              {"candidates", unknown},
                              {"compiled", count},
                              {"refused", count},
                              {"over_memory", count},
                              {"no_better", unknown},
                              {"not_looked_at", unknown},
                              {"branches", count}});
  return record({{"mtfc_search", version()},
                 {"model", text()},
                 {"entry", text()},
                 {"hardware", text()},
                 {"memory_limit", or_null(whole("bytes on a device"))},
                 {"proved", flag("no layout is faster than the first one")},
                 {"complete", flag("the search was not stopped")},
                 {"shortest_step_s", real()},
                 {"lower_bound_s", real()},
                 {"gap", real()},
                 {"seconds", real("that the search took")},
                 {"counts", counts},
                 {"layouts", list_of(found_layout_schema(), "the best first")},
                 {"faster_but_too_large", record({{"mesh", reference("mesh")},
                                                  {"layout", reference("splits")},
                                                  {"step_s", real()},
                                                  {"memory_bytes_per_device", whole()}})}},
                {"faster_but_too_large"});
}

Json searched_annotations() {
  return record({{"mtfc_annotation_search", version()},
                 {"model", text()},
                 {"entry", text()},
                 {"mesh", reference("mesh")},
                 {"rules", reference("splits")},
                 {"limited_rules", reference("limited_rules")},
                 {"shardings", map_schema(reference("splits"), "annotations")},
                 {"propagate", flag()},
                 {"cost", whole()},
                 {"bound", any_whole()},
                 {"gap", real()},
                 {"bytes_sent_per_device", whole()},
                 {"memory_bytes_per_device", whole()},
                 {"meshes", whole("that were searched")},
                 {"seconds", real("that the search took")},
                 {"step_s", real("predicted")}},
                {"step_s"});
}

// -- programs --

Json program_type() {
  return {{"dtype", text()}, {"dims", list_of(named_value(whole()), "dimensions and their sizes")}};
}

Json program_variable() {
  Json properties = {{"name", text()}};
  properties.update(program_type());
  properties.update({{"sharding", reference("sharding")},
                     {"trainable", flag()},
                     {"optimizer_state", flag()},
                     {"group", text()},
                     {"init", record({{"kind", text()}, {"a", reference("real")}, {"b", reference("real")}})},
                     {"offset", whole("in the arena")},
                     {"bytes", whole("of the largest shard")}});
  return record(std::move(properties), {"group", "init"});
}

Json program_value() {
  Json properties = {{"name", text()}};
  properties.update(program_type());
  properties.update({{"sharding", reference("sharding")},
                     {"buffer", any_whole("the number of a buffer; -1 within a fused step")},
                     {"from_model", flag("a tensor of the model in its own sharding")},
                     {"alias_of", whole("the value with the same elements")}});
  return record(std::move(properties), {"from_model", "alias_of"});
}

Json program_step() {
  const Json values = list_of(whole(), "numbers of values");
  return record({{"kind", name_of<StepKind>()},
                 {"name", text("of what it makes")},
                 {"source", text("JSON pointer of the operation in the model, or \"\"")},
                 {"phase", name_of<Phase>()},
                 {"inputs", values},
                 {"outputs", values},
                 {"workspace", whole("the number of a buffer")},
                 {"op", text()},
                 {"attributes", map_schema(record({{"type", text()}, {"value", Json::object()}}), "by name")},
                 {"turning", name_of<Turning>()},
                 {"axes", reference("axes")},
                 {"collective", name_of<CollectiveKind>()},
                 {"reduce", name_of<ReduceKind>()},
                 {"started", whole("for a wait: the number of the step that starts the collective")},
                 {"partner", whole("the number of the step at the other end of the loop")},
                 {"times", whole("the rounds of a loop")},
                 {"parts", list_of(reference("step"), "the members of a fused step")}},
                {"workspace", "op", "attributes", "turning", "axes", "collective", "reduce", "started",
                 "partner", "times", "parts"});
}

Json program_entry() {
  const Json bindings = list_of(record({{"name", text()}, {"value", whole("the number of a value")}}));
  return record(
      {{"name", text()},
       {"plan", record({{"cost", whole()}, {"bound", any_whole()}, {"hardware", text()}}, {"hardware"})},
       {"caches", list_of(reference("variable"))},
       {"arena_bytes", whole()},
       {"useful_einsum_flops", whole()},
       {"inputs", bindings},
       {"outputs", bindings},
       {"values", list_of(reference("value"))},
       {"buffers", list_of(record({{"kind", name_of<BufferKind>()},
                                   {"bytes", whole()},
                                   {"offset", whole()},
                                   {"first_step", any_whole()},
                                   {"last_step", any_whole()}}))},
       {"steps", list_of(reference("step"))}},
      {"plan", "caches"});
}

Json learning_rate_of_program() {
  const Json schedule = record({{"schedule", name_of<ScheduleKind>()},
                                {"peak", real()},
                                {"warmup", real()},
                                {"steps", real()},
                                {"end", real()}});
  return {{"anyOf", {reference("real"), schedule}}};
}

Json program_definitions() {
  Json definitions = shared_definitions();
  define(definitions, "real", {{"anyOf", {{{"type", "number"}}, {{"enum", {"inf", "-inf", "nan"}}}}}});
  define(definitions, "sharding",
         record({{"dims", list_of(reference("axes"), "of each dimension")},
                 {"partial", reference("partial")},
                 {"windows", list_of(list_of(any_whole()), "[dimension, size, step, low, span, base]")}},
                {"partial", "windows"}));
  define(definitions, "variable", program_variable());
  define(definitions, "value", program_value());
  define(definitions, "step", program_step());
  return definitions;
}

}  // namespace

std::string check_schema() {
  const Json diagnostic = record({{"severity", {{"enum", {"error", "warning", "note"}}}},
                                  {"message", text()},
                                  {"hint", text("what to do about it")},
                                  {"file", text()},
                                  {"line", whole()},
                                  {"column", whole()},
                                  {"pointer", text("JSON pointer")}},
                                 {"hint", "file", "line", "column", "pointer"});
  return schema_text(schema_head("mtfc check", "What mtfc check --format json prints"),
                     record({{"mtfc_check", version()},
                             {"model", text("the file")},
                             {"errors", whole()},
                             {"warnings", whole()},
                             {"notes", whole()},
                             {"diagnostics", list_of(diagnostic)}}),
                     {});
}

std::string difference_schema() {
  Json figures = {{"mesh", reference("mesh")}, {"layout", text("for people")}};
  for (const char* key : {"devices", "step_s", "compute_s", "communication_s", "einsum_flops_per_device",
                          "other_flops_per_device", "collectives", "bytes_sent_per_device",
                          "memory_per_device", "variables_per_device", "optimizer_state_per_device"})
    figures[key] = real();
  const Json sums = record({{"count", whole()}, {"bytes_sent", whole("per device")}});
  Json definitions = shared_definitions();
  define(definitions, "figures", record(std::move(figures)));
  return schema_text(
      schema_head("mtfc diff", "What mtfc diff --format json prints"),
      record({{"mtfc_difference", version()},
              {"model", text()},
              {"entry", text()},
              {"a", reference("figures")},
              {"b", reference("figures")},
              {"times", list_of(record({{"what", text()}, {"seconds", real("that B takes longer")}}))},
              {"shardings", list_of(record({{"tensors", texts("of repeated blocks")},
                                            {"role", name_of<TensorRole>()},
                                            {"a", text()},
                                            {"b", text()}}))},
              {"collectives", list_of(record({{"kind", name_of<CollectiveKind>()},
                                              {"over", text("axes, as in rows+cols")},
                                              {"tensors", texts()},
                                              {"moved", text("from which sharding to which")},
                                              {"a", sums},
                                              {"b", sums}}))}}),
      definitions);
}

std::string explanation_schema() {
  return schema_text(
      schema_head("mtfc explain", "What mtfc explain --format json prints: of a program, a step or a tensor"),
      {{"oneOf", {explained_list(), explained_step(), explained_tensor()}}}, explanation_definitions());
}

std::string fit_schema() {
  Json definitions = shared_definitions();
  define(definitions, "trial",
         record({{"devices", whole()},
                 {"mesh", reference("mesh")},
                 {"layout", reference("splits")},
                 {"zero_stage", or_null(whole("of ZeRO"))},
                 {"microbatches", whole()},
                 {"memory_bytes_per_device", whole()},
                 {"step_s", or_null(real())},
                 {"recomputed_s", or_null(real("that a step computes again"))}}));
  return schema_text(
      schema_head("mtfc search --fit", "What mtfc search --fit --format json prints"),
      record({{"mtfc_fit", version()},
              {"model", text()},
              {"hardware", text()},
              {"memory_limit", whole("bytes on a device")},
              {"complete", flag("the search was not stopped")},
              {"trials", whole()},
              {"seconds", real("that the search took")},
              {"fits", list_of(reference("trial"))},
              {"too_large", list_of(reference("trial"), "the smallest on each number of devices")}}),
      definitions);
}

std::string generation_schema() {
  const Json tokens = list_of(any_whole());
  return schema_text(schema_head("mtfc generate", "What mtfc generate --format json prints"),
                     record({{"mtfc_generation", version()},
                             {"model", text()},
                             {"sequences", list_of(record({{"beginning", any_whole()},
                                                           {"prompt", tokens},
                                                           {"tokens", tokens},
                                                           {"text", text()},
                                                           {"score", real()}},
                                                          {"text", "score"}))}}),
                     {});
}

std::string metrics_schema() {
  Json line = record({{"step", whole("the steps so far")},
                      {"step_time", real("seconds")},
                      {"samples_per_second", real()},
                      {"learning_rate", real()},
                      {"tokens_per_second", real()},
                      {"mfu", real("a fraction of 1")},
                      {"wall_time", real("seconds since the process began")}},
                     {"learning_rate", "tokens_per_second", "mfu"});
  line["additionalProperties"] = {{"type", {"number", "null"}},
                                  {"description", "an output of the model, such as loss, or valid/loss"}};
  return schema_text(schema_head("mtfc run --metrics", "A line of the file that mtfc run --metrics writes"),
                     line, {});
}

std::string placement_schema() {
  const Json tensor =
      record({{"name", text()},
              {"role", name_of<TensorRole>()},
              {"dtype", text()},
              {"dims", reference("dims")},
              {"sharding", reference("splits")},
              {"partial", reference("partial")},
              {"bytes_per_device", whole("of the largest shard")},
              {"devices_per_shard", whole("that hold each shard, or parts of its sum")},
              {"region", reference("region")},
              {"devices", list_of(record({{"rank", whole()}, {"region", reference("region")}}))}},
             {"partial", "region", "devices"});
  Json definitions = shared_definitions();
  define(definitions, "region", list_of(reference("interval"), "an interval for each dimension"));
  return schema_text(schema_head("mtfc show", "What mtfc show --format json prints"),
                     record({{"mtfc_placement", version()},
                             {"model", text()},
                             {"entry", text()},
                             {"mesh", reference("mesh")},
                             {"devices", whole()},
                             {"device_order", list_of(whole())},
                             {"rank", whole("whose regions are listed")},
                             {"tensors", list_of(tensor)}},
                            {"device_order", "rank"}),
                     definitions);
}

std::string program_schema() {
  Json properties = {{"mtfc_program", version()}, {"model", text()}, {"mesh", reference("mesh")}};
  add_layout_keys(properties);
  properties.update(
      {{"rules", list_of({{"type", "array"}, {"minItems", 2}, {"maxItems", 3}}, "as in a layout file")},
       {"names", map_schema(reference("real"), "params and dims of the model")},
       {"inputs", list_of(record({{"name", text()},
                                  {"dtype", text()},
                                  {"dims", list_of(named_value(whole()))},
                                  {"data", text("the source of the data, or \"\"")}}))},
       {"loss", text("the name of the loss among the outputs")},
       {"learning_rate", learning_rate_of_program()},
       {"variables", list_of(reference("variable"))},
       {"entry_points", list_of(program_entry())},
       {"warnings", texts()}});
  std::vector<std::string> optional = kLayoutKeys;
  optional.push_back("loss");
  optional.push_back("learning_rate");
  return schema_text(schema_head("mtfc program", "A program as mtfc compile -o FILE.json saves it"),
                     record(std::move(properties), optional), program_definitions());
}

std::string report_schema() {
  return schema_text(schema_head("mtfc cost-report", "What mtfc cost-report --format json prints"),
                     record({{"mtfc_report", version()},
                             {"layouts", list_of({{"anyOf", {reference("report"), impossible_schema()}}},
                                                 "in the order given")}}),
                     report_definitions());
}

std::string run_report_schema() {
  const Json seconds = real();
  const auto timed = [&](Json properties) {
    properties.update({{"predicted_seconds", real("for a collective: the waiting that the schedule leaves")},
                       {"seconds", real("the mean over devices")},
                       {"seconds_max", real("of the slowest process")},
                       {"start_seconds", seconds},
                       {"wait_seconds", seconds}});
    return record(std::move(properties), {"predicted_seconds", "start_seconds", "wait_seconds"});
  };
  const Json time = record(
      {{"runs", whole("of the entry point, over which times are averaged")},
       {"seconds_per_step", seconds},
       {"steps_per_second", real()},
       {"input_seconds", real("of a step, to fill the inputs")},
       {"predicted_seconds_per_step", seconds},
       {"by_kind", map_schema(timed({{"steps", whole()}}), "by kind of step")},
       {"steps",
        list_of(
            timed({{"name", text()}, {"kind", text()}, {"source", text()}, {"phase", name_of<Phase>()}}))}},
      {"predicted_seconds_per_step"});
  const Json run = record({{"arena_bytes_per_device", whole("as allocated")},
                           {"resident_bytes", whole("of the largest process")},
                           {"ranks", whole()},
                           {"ranks_per_node", whole()},
                           {"threads_per_rank", whole()},
                           {"time", time}});
  return schema_text(schema_head("mtfc run --report", "The file that mtfc run --report writes"),
                     record({{"mtfc_run_report", version()},
                             {"predicted", reference("report")},
                             {"measured", reference("report")},
                             {"run", run}}),
                     report_definitions());
}

std::string search_schema() {
  Json definitions = shared_definitions();
  return schema_text(
      schema_head("mtfc search", "What mtfc search --format json prints, with --annotations or without"),
      {{"oneOf", {searched_rules(), searched_annotations()}}}, definitions);
}

}  // namespace mtfc
