#include <functional>
#include <optional>

#include "formats/json/layout_keys.h"
#include "formats/program/program_writer.h"

namespace mtfc {
namespace {

using namespace schema_parts;

// Pairs of name and size: the order of dimensions matters, and JSON objects have none.
Json dims_json(const Dims& dims) {
  return json_list(dims, [](const Dim& dim) { return Json::array({dim.name, dim.size}); });
}

const OutputObject<TensorType> kType = {
    {"dtype", text(), [](const TensorType& type) { return to_string(type.dtype); }},
    {"dims", list_of(named_value(whole()), "dimensions and their sizes"),
     [](const TensorType& type) { return dims_json(type.dims); }}};

const OutputObject<Sharding, Mesh> kSharding = {
    {"dims", list_of(reference("axes"), "of each dimension"),
     [](const Sharding& sharding, const Mesh& mesh) {
       return json_list(sharding.dims, [&](const AxisList& axes) { return json_of(axes, mesh); });
     }},
    {"partial", reference("partial"),
     [](const Sharding& sharding, const Mesh& mesh) { return unless_empty(partial_json(sharding, mesh)); }},
    {"windows", list_of(list_of(any_whole()), "[dimension, size, step, low, span, base]"),
     [](const Sharding& sharding) {
       return unless_empty(json_list(sharding.windows, [](const WindowSplit& window) {
         return json_list(window.numbers(), std::identity());
       }));
     }}};

// {"type": "dims", "value": …}: the types of core/graph/attributes.h.
struct AttributeWriter {
  static Json typed(const char* type, Json value) { return {{"type", type}, {"value", std::move(value)}}; }
  Json operator()(bool flag) const { return typed("flag", flag); }
  Json operator()(int64_t number) const { return typed("integer", number); }
  Json operator()(double number) const { return typed("number", real_json(number)); }
  Json operator()(const std::string& text) const { return typed("text", text); }
  Json operator()(DType dtype) const { return typed("dtype", to_string(dtype)); }
  Json operator()(const Dim& dim) const { return typed("dim", {dim.name, dim.size}); }
  Json operator()(const Dims& dims) const { return typed("dims", dims_json(dims)); }
  Json operator()(const std::vector<Renaming>& map) const {
    return typed("renaming", json_list(map, [](const Renaming& entry) {
                   return Json::array({entry.from, entry.to.name, entry.to.size});
                 }));
  }
  Json operator()(const Windows& windows) const {
    return typed("windows", json_list(windows, [](const Window& window) {
                   Json item = Json::object();
                   for (const WindowNumber& number : window_numbers())
                     item[number.key] = window.*number.member;
                   item["dim"] = {window.dim.name, window.dim.size};
                   item["taps"] = {window.taps.name, window.taps.size};
                   item["to"] = {window.to.name, window.to.size};
                   return item;
                 }));
  }
};

Json attributes_json(const Attributes& attributes) {
  Json json = Json::object();
  for (const auto& [name, value] : attributes.entries()) json[name] = std::visit(AttributeWriter{}, value);
  return json;
}

const OutputObject<Init> kInit = {
    {"kind", text(), [](const Init& init) { return to_string(init.kind); }},
    {"a", reference("real"), [](const Init& init) { return real_json(init.a); }},
    {"b", reference("real"), [](const Init& init) { return real_json(init.b); }}};

using Variable = const ProgramVariable&;

const OutputObject<ProgramVariable, Mesh> kVariable = {
    {"name", text(), [](Variable variable) { return variable.decl.name; }},
    {kType, [](Variable variable) -> const TensorType& { return variable.decl.type; }},
    {"sharding", reference("sharding"),
     [](Variable variable, const Mesh& mesh) { return kSharding.json(variable.sharding, mesh); }},
    {"trainable", flag(), [](Variable variable) { return variable.decl.trainable; }},
    {"optimizer_state", flag(), [](Variable variable) { return variable.decl.optimizer_state; }},
    {"group", text(), [](Variable variable) { return unless_empty(variable.decl.group); }},
    {"scale", text("of i8 values: the variable that has the scale of each row"),
     [](Variable variable) { return unless_empty(variable.decl.scale); }},
    {"init", kInit, [](Variable variable) { return variable.decl.init; }},
    {"offset", whole("in the arena"), &ProgramVariable::offset},
    {"bytes", whole("of the largest shard"), &ProgramVariable::bytes}};

const Json kValueNumbers = list_of(whole(), "numbers of values");

// The group of devices of a step that has one.
const AxisList* axes_of(const Step& step) {
  if (const auto* ring = step.as<RunRing>()) return &ring->axes;
  const auto* start = step.as<StartCollective>();
  return start ? &start->collective.axes : nullptr;
}

// The step at the other end of the loop.
std::optional<StepIndex> partner_of(const Step& step) {
  if (const auto* loop = step.as<BeginLoop>()) return loop->end;
  if (const auto* leave = step.as<LeaveLoop>()) return leave->end;
  if (const auto* repeat = step.as<RepeatLoop>()) return repeat->begin;
  return {};
}

// Returns a function that calls `value` with the step if this is of the kind, and gives nothing otherwise.
template <typename Kind, typename Value>
auto of_kind(Value value) {
  return [value](const Step& step) {
    const auto* kind = step.as<Kind>();
    return kind ? std::optional(value(*kind)) : std::nullopt;
  };
}

const OutputObject<Step, Mesh> kStep = {
    {"kind", name_of<StepKind>(), [](const Step& step) { return to_string(step.kind()); }},
    {"name", text("of what it makes"), &Step::name},
    {"source", text("JSON pointer of the operation in the model, or \"\""), &Step::source},
    {"phase", name_of<Phase>(), [](const Step& step) { return to_string(step.phase); }},
    {"inputs", kValueNumbers, [](const Step& step) { return json_list(step.inputs, &ValueId::number); }},
    {"outputs", kValueNumbers, [](const Step& step) { return json_list(step.outputs, &ValueId::number); }},
    {"workspace", whole("the number of a buffer"),
     [](const Step& step) { return when(step.workspace != kNoBuffer, step.workspace.number()); }},
    {"op", text(),
     [](const Step& step) { return step.op() ? std::optional(step.op()->signature.name) : std::nullopt; }},
    {"attributes", map_schema(record({{"type", text()}, {"value", Json::object()}}), "by name"),
     [](const Step& step) {
       return step.op() ? std::optional(attributes_json(step.attributes())) : std::nullopt;
     }},
    {"turning", name_of<Turning>(),
     of_kind<RunRing>([](const RunRing& ring) { return to_string(ring.turning); })},
    {"collective", name_of<CollectiveKind>(),
     of_kind<StartCollective>([](const StartCollective& start) { return to_string(start.collective.kind); })},
    {"axes", reference("axes"),
     [](const Step& step, const Mesh& mesh) {
       const AxisList* axes = axes_of(step);
       return axes ? std::optional(json_of(*axes, mesh)) : std::nullopt;
     }},
    {"reduce", name_of<ReduceKind>(), of_kind<StartCollective>([](const StartCollective& start) {
       return to_string(start.collective.reduce);
     })},
    {"started", whole("for a wait: the number of the step that starts the collective"),
     of_kind<AwaitCollective>([](const AwaitCollective& wait) { return wait.start.number(); })},
    {"partner", whole("the number of the step at the other end of the loop"),
     [](const Step& step) {
       const std::optional<StepIndex> partner = partner_of(step);
       return partner ? std::optional(partner->number()) : std::nullopt;
     }},
    {"times", whole("the rounds of a loop"),
     [](const Step& step) {
       const auto* loop = step.as<BeginLoop>();
       return when(loop && loop->times > 0, loop ? loop->times : 0);
     }},
    {"parts", list_of(reference("step"), "the members of a fused step"),
     [](const Step& step, const Mesh& mesh) {
       return unless_empty(json_list(step.members(), kStep, mesh));
     }}};

const OutputObject<Binding> kBinding = {
    {"name", text(), &Binding::name},
    {"value", whole("the number of a value"), [](const Binding& binding) { return binding.value.number(); }}};

const OutputObject<Value, Mesh> kValue = {
    {"name", text(), &Value::name},
    {kType, &Value::type},
    {"sharding", reference("sharding"),
     [](const Value& value, const Mesh& mesh) { return kSharding.json(value.sharding, mesh); }},
    {"buffer", any_whole("the number of a buffer; -1 within a fused step"),
     [](const Value& value) { return value.buffer.number(); }},
    {"from_model", flag("a tensor of the model in its own sharding"),
     [](const Value& value) { return unless_empty(value.from_model); }},
    {"alias_of", whole("the value with the same elements"),
     [](const Value& value) { return when(value.alias_of != kNoValue, value.alias_of.number()); }}};

const OutputObject<Buffer> kBuffer = {
    {"kind", name_of<BufferKind>(), [](const Buffer& buffer) { return to_string(buffer.kind); }},
    {"bytes", whole(), &Buffer::bytes},
    {"offset", whole(), &Buffer::offset},
    {"first_step", any_whole(), &Buffer::first_step},
    {"last_step", any_whole(), &Buffer::last_step}};

const OutputObject<PlanFigures> kPlan = {
    {"cost", whole(), &PlanFigures::cost},
    {"bound", any_whole(), &PlanFigures::bound},
    {"hardware", text(), [](const PlanFigures& plan) { return unless_empty(plan.hardware); }}};

using Entry = const EntryPoint&;

const OutputObject<EntryPoint, Mesh> kEntry = {
    {"name", text(), &EntryPoint::name},
    {"plan", kPlan, &EntryPoint::plan},
    {"caches", list_of(reference("variable")),
     [](Entry entry, const Mesh& mesh) { return unless_empty(json_list(entry.caches, kVariable, mesh)); }},
    {"arena_bytes", whole(), &EntryPoint::arena_bytes},
    {"useful_einsum_flops", whole(), [](Entry entry) { return entry.useful.flops; }},
    {"needed_flops", map_schema(whole(), "by dtype"),
     [](Entry entry) {
       Json needed = Json::object();
       for (const auto& [dtype, flops] : entry.useful.needed) needed[to_string(dtype)] = flops;
       return unless_empty(needed);
     }},
    {"inputs", list_of(kBinding.schema()), [](Entry entry) { return json_list(entry.inputs, kBinding); }},
    {"outputs", list_of(kBinding.schema()), [](Entry entry) { return json_list(entry.outputs, kBinding); }},
    {"values", list_of(reference("value")),
     [](Entry entry, const Mesh& mesh) { return json_list(entry.values, kValue, mesh); }},
    {"buffers", list_of(kBuffer.schema()), [](Entry entry) { return json_list(entry.buffers, kBuffer); }},
    {"steps", list_of(reference("step")),
     [](Entry entry, const Mesh& mesh) { return json_list(entry.steps, kStep, mesh); }}};

const OutputObject<Schedule> kSchedule = {
    {"schedule", name_of<ScheduleKind>(), [](const Schedule& schedule) { return to_string(schedule.kind); }},
    {"peak", real(), &Schedule::peak},
    {"warmup", real(), &Schedule::warmup},
    {"hold", real(), &Schedule::hold},
    {"steps", real(), &Schedule::steps},
    {"end", real(), &Schedule::end}};

Json learning_rate_schema() {
  const Json factor = {{"anyOf", {reference("real"), kSchedule.schema()}}};
  return {{"anyOf", {reference("real"), kSchedule.schema(), record({{"product", list_of(factor)}})}}};
}

Json learning_rate_json(const LearningRate& rate) {
  if (rate.schedules.empty()) return real_json(rate.constant);
  Json factors = json_list(rate.schedules, kSchedule);
  if (rate.constant != 1) factors.push_back(real_json(rate.constant));
  return factors.size() == 1 ? factors.list().front() : Json{{"product", std::move(factors)}};
}

Json rules_json(const Program& program) {
  Json rules = Json::array();
  for (const Rule& rule : program.layout.rules)
    rules.push_back({rule.dim, json_of(rule.axes, program.mesh())});
  const Json limited = limited_rules_json(program.layout);
  for (const Json& rule : limited.list()) rules.push_back(rule);
  return rules;
}

const OutputObject<InputDecl> kInput = {
    {"name", text(), &InputDecl::name},
    {kType, &InputDecl::type},
    {"data", text("the source of the data, or \"\""), &InputDecl::source}};

const OutputObject<Program> kProgram = {
    {"mtfc_program", version(), [](const Program&) { return kProgramVersion; }},
    {"model", text(), &Program::model},
    {"mesh", reference("mesh"), [](const Program& program) { return json_of(program.mesh()); }},
    {"rules", list_of({{"type", "array"}, {"minItems", 2}, {"maxItems", 3}}, "as in a layout file"),
     rules_json},
    {layout_keys(), &Program::layout},
    {"names", map_schema(reference("real"), "params and dims of the model"),
     [](const Program& program) { return json_map(program.names, real_json); }},
    {"inputs", list_of(kInput.schema()),
     [](const Program& program) { return json_list(program.inputs, kInput); }},
    {"loss", text("the name of the loss among the outputs"),
     [](const Program& program) { return unless_empty(program.loss); }},
    {"learning_rate", learning_rate_schema(),
     [](const Program& program) {
       const std::optional<LearningRate>& rate = program.learning_rate;
       return rate ? std::optional(learning_rate_json(*rate)) : std::nullopt;
     }},
    {"variables", list_of(reference("variable")),
     [](const Program& program) { return json_list(program.variables, kVariable, program.mesh()); }},
    {"weights", list_of(text(), "what variables are called in published files: FROM=TO"),
     [](const Program& program) {
       return program.weights.empty() ? std::nullopt : std::optional<Json>(program.weights);
     }},
    {"entry_points", list_of(kEntry.schema()),
     [](const Program& program) { return json_list(program.entry_points, kEntry, program.mesh()); }},
    {"warnings", texts(), &Program::warnings}};

}  // namespace

std::string program_json(const Program& program) {
  return dump_lines(kProgram.json(program), 4);
}

std::string program_schema() {
  return output_schema("mtfc program", "A program as mtfc compile -o FILE.json saves it", kProgram.schema(),
                       {{"real", {{"anyOf", {{{"type", "number"}}, {{"enum", {"inf", "-inf", "nan"}}}}}}},
                        {"sharding", kSharding.schema()},
                        {"variable", kVariable.schema()},
                        {"value", kValue.schema()},
                        {"step", kStep.schema()}});
}

}  // namespace mtfc
