#include "formats/reference/output_schemas.h"

#include <utility>

#include "core/program/placed_tensors.h"
#include "formats/reference/output_parts.h"

namespace mtfc {
namespace {

using namespace output_parts;

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
  return record({{"step_s?", real("predicted, with --hardware")},
                 {"cost", whole("by which plans are chosen")},
                 {"bytes_sent_per_device", whole()},
                 {"collectives", whole()},
                 {"memory_bytes_per_device", whole()},
                 {"flops_per_device", whole()}});
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
                 {"from?", form},
                 {"to?", form},
                 {"dims_after?", reference("dims")},
                 {"halos?", reference("halos")},
                 {"moves_pieces_for?", text("the operation whose pieces are exchanged")},
                 {"maker", operation},
                 {"readers", list_of(operation)},
                 {"tensors_with_it?", whole("other tensors that the step moves together with it")}});
}

Json reason_schema() {
  return record({{"by", text()}, {"text?", text()}, {"place?", reference("place")}});
}

Json change_schema() {
  return record({{"text", text("for people")},
                 {"shardings?", map_schema(reference("splits"), "annotations to add")},
                 {"removed?", text("the pattern of an annotation to remove")},
                 {"propagate?", flag()}});
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
      record(
          {{"operation", text()}, {"tensor", text()}, {"source?", text()}, {"place?", reference("place")}}));
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
  const Json group = record({{"tensors", text("their names as one, as in layer_{0..5}/y")},
                             {"collective", text()},
                             {"axes", reference("axes")},
                             {"steps", list_of(whole())},
                             {"total_bytes_sent_per_device", whole("of all these steps and their runs")}});
  Json properties = explanation_head();
  properties.update(
      {{"figures", reference("figures")},
       {"reshards", list_of(reference("reshard"))},
       {"groups", list_of(group, "collectives that differ only in the number of a repeated block")}});
  return record(properties);
}

Json explained_step() {
  const Json figures = reference("figures"), change = reference("change");
  Json properties = explanation_head();
  properties.update(
      {{"reshard", reference("reshard")},
       {"with?", list_of(reference("reshard"), "other tensors that the step moves, largest first")},
       {"figures", figures},
       {"tried", whole("layouts that were compiled")},
       {"removal",
        or_null(
            record({{"change", change}, {"figures", figures}, {"instead", list_of(reference("reshard"))}}))},
       {"cheaper?", record({{"change", change}, {"figures", figures}})}});
  return record(properties);
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
  return record(properties);
}

// -- search --

Json found_layout_schema() {
  return record({{"rank", whole("1 for the first")},
                 {"mesh", reference("mesh")},
                 {"devices", whole()},
                 {"layout", reference("splits")},
                 {"device_order?", list_of(whole())},
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
                 {"slower_by_s?", real()},
                 {"differences_s?", map_schema({{"type", "number"}}, "by item")},
                 {"why?", text("for people")}});
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
                 {"lower_bound_s", real("no layout is faster; 0 if there was no time to find how much")},
                 {"gap", real()},
                 {"seconds", real("that the search took")},
                 {"counts", counts},
                 {"layouts", list_of(found_layout_schema(), "the best first")},
                 {"as_fast_on_fewer_devices?", record({{"mesh", reference("mesh")},
                                                       {"devices", whole()},
                                                       {"layout", reference("splits")},
                                                       {"step_s", real()},
                                                       {"memory_bytes_per_device", whole()}})},
                 {"faster_but_too_large?", record({{"mesh", reference("mesh")},
                                                   {"layout", reference("splits")},
                                                   {"step_s", real()},
                                                   {"memory_bytes_per_device", whole()}})}});
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
                 {"complete", flag()},
                 {"cost", whole()},
                 {"bound", or_null(any_whole())},
                 {"gap", or_null(real())},
                 {"bytes_sent_per_device", whole()},
                 {"memory_bytes_per_device", whole()},
                 {"meshes", whole("that were searched")},
                 {"seconds", real("that the search took")},
                 {"step_s?", real("predicted")}});
}

}  // namespace

std::string check_schema() {
  const Json diagnostic = record({{"severity", {{"enum", {"error", "warning", "note"}}}},
                                  {"message", text()},
                                  {"hint?", text("what to do about it")},
                                  {"file?", text()},
                                  {"line?", whole()},
                                  {"column?", whole()},
                                  {"pointer?", text("JSON pointer")}});
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
                 {"scatters_each_microbatch", flag("each microbatch scatters its gradients (ZeRO)")},
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
              {"undecided_devices",
               list_of(whole(),
                       "numbers of devices on which nothing that was tried fits, though not all was tried")},
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
                                                           {"text?", text()},
                                                           {"score?", real()}}))}}),
                     {});
}

std::string metrics_schema() {
  Json line = record({{"step", whole("the steps so far")},
                      {"step_time", real("seconds")},
                      {"samples_per_second", real()},
                      {"learning_rate?", real()},
                      {"tokens_per_second?", real()},
                      {"mfu?", real("a fraction of 1")},
                      {"wall_time", real("seconds since the process began")}});
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
              {"partial?", reference("partial")},
              {"bytes_per_device", whole("of the largest shard")},
              {"devices_per_shard", whole("that hold each shard, or parts of its sum")},
              {"region?", reference("region")},
              {"devices?", list_of(record({{"rank", whole()}, {"region", reference("region")}}))}});
  Json definitions = shared_definitions();
  define(definitions, "region", list_of(reference("interval"), "an interval for each dimension"));
  return schema_text(schema_head("mtfc show", "What mtfc show --format json prints"),
                     record({{"mtfc_placement", version()},
                             {"model", text()},
                             {"entry", text()},
                             {"mesh", reference("mesh")},
                             {"devices", whole()},
                             {"device_order?", list_of(whole())},
                             {"rank?", whole("whose regions are listed")},
                             {"tensors", list_of(tensor)}}),
                     definitions);
}

std::string search_schema() {
  Json definitions = shared_definitions();
  return schema_text(
      schema_head("mtfc search", "What mtfc search --format json prints, with --annotations or without"),
      {{"oneOf", {searched_rules(), searched_annotations()}}}, definitions);
}

}  // namespace mtfc
