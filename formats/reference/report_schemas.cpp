#include "core/program/program.h"
#include "formats/reference/output_parts.h"
#include "formats/reference/output_schemas.h"
#include "formats/report/report_figures.h"

namespace mtfc {
namespace {

using namespace output_parts;

Json totals_schema() {
  return record({{"count", whole()}, {"elements", whole("per device")}, {"bytes_sent", whole("per device")}});
}

// An object with the figures of a group, and further keys.
Json figures_record(const char* group, const Json& further = Json::object()) {
  Json properties = figure_schemas(group);
  properties.update(further);
  return record(properties);
}

Json communication_schema() {
  const Json totals = reference("totals");
  return figures_record(
      "communication",
      {{"by_kind", map_schema(totals, "by kind of collective")},
       {"by_axis", map_schema(totals, "by axis; rows+cols for a group over several")},
       {"between_nodes?", figures_record("communication/between_nodes", {{"by_node", list_of(whole())}})}});
}

Json memory_schema() {
  const Json groups = map_schema(record({{"variables", whole()}, {"optimizer_state", whole()}}),
                                 "the shares of groups of variables");
  return with_description(
      figures_record("memory", {{"groups?", groups},
                                {"largest_at_peak",
                                 list_of(record({{"name", text()}, {"kind", text()}, {"bytes", whole()}}),
                                         "the largest first")}}),
      "bytes on a device; the parts from variables to alignment_and_gaps add up to the peak");
}

Json step_schema() {
  return record({{"name", text("of what it makes; of several tensors, of the largest")},
                 {"kind", text("the operation or collective")},
                 {"source", text("JSON pointer of the operation in the model, or \"\"")},
                 {"phase", name_of<Phase>()},
                 {"axes", reference("axes")},
                 {"elements", whole()},
                 {"bytes_sent", whole("per device")},
                 {"flops", whole("on the device that computes most")},
                 {"seconds?", real()},
                 {"begin_s?", real()},
                 {"end_s?", real()},
                 {"bound?", text("what limits it")},
                 {"at_peak_s?", real("at the peak rates of the hardware")},
                 {"tensors_with_it?", whole("other tensors that it moves together with that of its name")}});
}

Json tensor_schema() {
  return record({{"name", text()},
                 {"dims", reference("dims")},
                 {"sharding", reference("splits")},
                 {"partial?", reference("partial")},
                 {"local_shape", list_of(whole(), "on the device that is last on every axis")},
                 {"local_shape_min", list_of(whole(), "on the first device")}});
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
      {{"parameters", figures_record("parameters", {{"groups?", groups}})},
       {"flops", figures_record("flops")},
       {"communication", communication_schema()},
       {"recomputation?", figures_record("recomputation", {{"tensors", texts("that are computed again")}})},
       {"plan?",
        record({{"cost", whole()}, {"bound", any_whole()}, {"gap", or_null(real())}, {"hardware?", text()}})},
       {"memory", memory_schema()},
       {"time?", figures_record("time")},
       {"training?", figures_record("training")},
       {"tensors", list_of(reference("tensor"))},
       {"steps", list_of(reference("step"))},
       {"warnings", texts()},
       {"better_device_order?", record({{"axes", texts("the last one is inside the nodes")},
                                        {"device_order", list_of(whole())},
                                        {"step_s", real()}})}});
  return record(properties);
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

}  // namespace

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
    properties.update({{"predicted_seconds?", real("for a collective: the waiting that the schedule leaves")},
                       {"seconds", real("the mean over devices")},
                       {"seconds_max", real("of the slowest process")},
                       {"start_seconds?", seconds},
                       {"wait_seconds?", seconds}});
    return record(properties);
  };
  const Json time =
      record({{"runs", whole("of the entry point, over which times are averaged")},
              {"seconds_per_step", real("the mean over ranks")},
              {"steps_per_second", real()},
              {"input_seconds", real("of a step, to fill the inputs: the mean over ranks")},
              {"predicted_seconds_per_step?", seconds},
              {"by_kind", map_schema(timed({{"steps", whole()}}), "by kind of step")},
              {"steps",
               list_of(timed(
                   {{"name", text()}, {"kind", text()}, {"source", text()}, {"phase", name_of<Phase>()}}))}});
  const Json run = record({{"command", text("as a shell reads it")},
                           {"host", text("of the rank that writes")},
                           {"date", text("of the end of the run, in UTC: 2026-01-31T23:59:59Z")},
                           {"arena_bytes_per_device", whole("as allocated")},
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

}  // namespace mtfc
