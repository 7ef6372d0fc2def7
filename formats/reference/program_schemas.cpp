#include "core/model/learning_rate.h"
#include "core/program/program.h"
#include "formats/reference/output_parts.h"
#include "formats/reference/output_schemas.h"

namespace mtfc {
namespace {

using namespace output_parts;

Json program_type() {
  return {{"dtype", text()}, {"dims", list_of(named_value(whole()), "dimensions and their sizes")}};
}

Json program_variable() {
  Json properties = {{"name", text()}};
  properties.update(program_type());
  properties.update(
      {{"sharding", reference("sharding")},
       {"trainable", flag()},
       {"optimizer_state", flag()},
       {"group?", text()},
       {"scale?", text("of i8 values: the variable that has the scale of each row")},
       {"init?", record({{"kind", text()}, {"a", reference("real")}, {"b", reference("real")}})},
       {"offset", whole("in the arena")},
       {"bytes", whole("of the largest shard")}});
  return record(properties);
}

Json program_value() {
  Json properties = {{"name", text()}};
  properties.update(program_type());
  properties.update({{"sharding", reference("sharding")},
                     {"buffer", any_whole("the number of a buffer; -1 within a fused step")},
                     {"from_model?", flag("a tensor of the model in its own sharding")},
                     {"alias_of?", whole("the value with the same elements")}});
  return record(properties);
}

Json program_step() {
  const Json values = list_of(whole(), "numbers of values");
  return record(
      {{"kind", name_of<StepKind>()},
       {"name", text("of what it makes")},
       {"source", text("JSON pointer of the operation in the model, or \"\"")},
       {"phase", name_of<Phase>()},
       {"inputs", values},
       {"outputs", values},
       {"workspace?", whole("the number of a buffer")},
       {"op?", text()},
       {"attributes?", map_schema(record({{"type", text()}, {"value", Json::object()}}), "by name")},
       {"turning?", name_of<Turning>()},
       {"axes?", reference("axes")},
       {"collective?", name_of<CollectiveKind>()},
       {"reduce?", name_of<ReduceKind>()},
       {"started?", whole("for a wait: the number of the step that starts the collective")},
       {"partner?", whole("the number of the step at the other end of the loop")},
       {"times?", whole("the rounds of a loop")},
       {"parts?", list_of(reference("step"), "the members of a fused step")}});
}

Json program_entry() {
  const Json bindings = list_of(record({{"name", text()}, {"value", whole("the number of a value")}}));
  return record({{"name", text()},
                 {"plan?", record({{"cost", whole()}, {"bound", any_whole()}, {"hardware?", text()}})},
                 {"caches?", list_of(reference("variable"))},
                 {"arena_bytes", whole()},
                 {"useful_einsum_flops", whole()},
                 {"needed_flops?", map_schema(whole(), "by dtype")},
                 {"inputs", bindings},
                 {"outputs", bindings},
                 {"values", list_of(reference("value"))},
                 {"buffers", list_of(record({{"kind", name_of<BufferKind>()},
                                             {"bytes", whole()},
                                             {"offset", whole()},
                                             {"first_step", any_whole()},
                                             {"last_step", any_whole()}}))},
                 {"steps", list_of(reference("step"))}});
}

Json learning_rate_of_program() {
  const Json schedule = record({{"schedule", name_of<ScheduleKind>()},
                                {"peak", real()},
                                {"warmup", real()},
                                {"hold?", real()},
                                {"steps", real()},
                                {"end", real()}});
  const Json factor = {{"anyOf", {reference("real"), schedule}}};
  return {{"anyOf", {reference("real"), schedule, record({{"product", list_of(factor)}})}}};
}

Json program_definitions() {
  Json definitions = shared_definitions();
  define(definitions, "real", {{"anyOf", {{{"type", "number"}}, {{"enum", {"inf", "-inf", "nan"}}}}}});
  define(definitions, "sharding",
         record({{"dims", list_of(reference("axes"), "of each dimension")},
                 {"partial?", reference("partial")},
                 {"windows?", list_of(list_of(any_whole()), "[dimension, size, step, low, span, base]")}}));
  define(definitions, "variable", program_variable());
  define(definitions, "value", program_value());
  define(definitions, "step", program_step());
  return definitions;
}

}  // namespace

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
       {"loss?", text("the name of the loss among the outputs")},
       {"learning_rate?", learning_rate_of_program()},
       {"variables", list_of(reference("variable"))},
       {"entry_points", list_of(program_entry())},
       {"warnings", texts()}});
  return schema_text(schema_head("mtfc program", "A program as mtfc compile -o FILE.json saves it"),
                     record(properties), program_definitions());
}

}  // namespace mtfc
