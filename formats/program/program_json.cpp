#include "formats/json/ordered_json.h"
#include "formats/program/program_writer.h"

namespace mtfc {
namespace {

// Pairs of name and size: the order of dimensions matters, and JSON objects have none.
Json dims_json(const Dims& dims) {
  return json_list(dims, [](const Dim& dim) { return Json::array({dim.name, dim.size}); });
}

Json type_json(const TensorType& type) {
  return {{"dtype", to_string(type.dtype)}, {"dims", dims_json(type.dims)}};
}

// One list of axes per dimension.
Json sharding_json(const Sharding& sharding, const Mesh& mesh) {
  Json json = {{"dims", json_list(sharding.dims, [&](const AxisList& axes) { return json_of(axes, mesh); })}};
  if (!sharding.partial.empty()) json["partial"] = partial_json(sharding, mesh);
  for (const WindowSplit& window : sharding.windows)
    json["windows"].push_back(json_list(window.numbers(), std::identity()));
  return json;
}

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

Json variable_json(const ProgramVariable& variable, const Mesh& mesh) {
  Json json = {{"name", variable.decl.name}};
  json.update(type_json(variable.decl.type));
  json["sharding"] = sharding_json(variable.sharding, mesh);
  json["trainable"] = variable.decl.trainable;
  json["optimizer_state"] = variable.decl.optimizer_state;
  if (!variable.decl.group.empty()) json["group"] = variable.decl.group;
  if (!variable.decl.scale.empty()) json["scale"] = variable.decl.scale;
  if (const std::optional<Init>& init = variable.decl.init)
    json["init"] = {{"kind", to_string(init->kind)}, {"a", real_json(init->a)}, {"b", real_json(init->b)}};
  json["offset"] = variable.offset;
  json["bytes"] = variable.bytes;
  return json;
}

Json step_json(const Step& step, const Mesh& mesh) {
  Json json = {{"kind", to_string(step.kind())},
               {"name", step.name},
               {"source", step.source},
               {"phase", to_string(step.phase)},
               {"inputs", json_list(step.inputs, &ValueId::number)},
               {"outputs", json_list(step.outputs, &ValueId::number)}};
  if (step.workspace != kNoBuffer) json["workspace"] = step.workspace.number();
  if (step.op()) {
    json["op"] = step.op()->signature.name;
    json["attributes"] = attributes_json(step.attributes());
  }
  if (const auto* ring = step.as<RunRing>()) {
    json["turning"] = to_string(ring->turning);
    json["axes"] = json_of(ring->axes, mesh);
  }
  if (const auto* start = step.as<StartCollective>()) {
    json["collective"] = to_string(start->collective.kind);
    json["axes"] = json_of(start->collective.axes, mesh);
    json["reduce"] = to_string(start->collective.reduce);
  }
  if (const auto* wait = step.as<AwaitCollective>()) json["started"] = wait->start.number();
  if (const auto* loop = step.as<BeginLoop>()) {
    json["partner"] = loop->end.number();
    if (loop->times > 0) json["times"] = loop->times;
  }
  if (const auto* leave = step.as<LeaveLoop>()) json["partner"] = leave->end.number();
  if (const auto* repeat = step.as<RepeatLoop>()) json["partner"] = repeat->begin.number();
  for (const Step& member : step.members()) json["parts"].push_back(step_json(member, mesh));
  return json;
}

Json bindings_json(const std::vector<Binding>& bindings) {
  return json_list(bindings, [](const Binding& binding) -> Json {
    return {{"name", binding.name}, {"value", binding.value.number()}};
  });
}

Json value_json(const Value& value, const Mesh& mesh) {
  Json json = {{"name", value.name}};
  json.update(type_json(value.type));
  json["sharding"] = sharding_json(value.sharding, mesh);
  json["buffer"] = value.buffer.number();
  if (value.from_model) json["from_model"] = true;
  if (value.alias_of != kNoValue) json["alias_of"] = value.alias_of.number();
  return json;
}

Json buffer_json(const Buffer& buffer) {
  return {{"kind", to_string(buffer.kind)},
          {"bytes", buffer.bytes},
          {"offset", buffer.offset},
          {"first_step", buffer.first_step},
          {"last_step", buffer.last_step}};
}

Json entry_json(const EntryPoint& entry, const Mesh& mesh) {
  Json json = {{"name", entry.name}};
  if (entry.plan) {
    json["plan"] = {{"cost", entry.plan->cost}, {"bound", entry.plan->bound}};
    if (!entry.plan->hardware.empty()) json["plan"]["hardware"] = entry.plan->hardware;
  }
  for (const ProgramVariable& cache : entry.caches) json["caches"].push_back(variable_json(cache, mesh));
  json.update(Json{{"arena_bytes", entry.arena_bytes}, {"useful_einsum_flops", entry.useful.flops}});
  for (const auto& [dtype, flops] : entry.useful.needed) json["needed_flops"][to_string(dtype)] = flops;
  json.update(
      Json{{"inputs", bindings_json(entry.inputs)},
           {"outputs", bindings_json(entry.outputs)},
           {"values", json_list(entry.values, [&](const Value& one) { return value_json(one, mesh); })},
           {"buffers", json_list(entry.buffers, buffer_json)},
           {"steps", json_list(entry.steps, [&](const Step& one) { return step_json(one, mesh); })}});
  return json;
}

Json learning_rate_json(const LearningRate& rate) {
  if (rate.schedules.empty()) return real_json(rate.constant);
  Json factors = Json::array();
  for (const Schedule& schedule : rate.schedules)
    factors.push_back({{"schedule", to_string(schedule.kind)},
                       {"peak", schedule.peak},
                       {"warmup", schedule.warmup},
                       {"hold", schedule.hold},
                       {"steps", schedule.steps},
                       {"end", schedule.end}});
  if (rate.constant != 1) factors.push_back(real_json(rate.constant));
  return factors.size() == 1 ? factors.list().front() : Json{{"product", std::move(factors)}};
}

}  // namespace

std::string program_json(const Program& program) {
  const Mesh& mesh = program.mesh();
  Json rules = Json::array(), names = Json::object(), inputs = Json::array();
  for (const auto& [name, value] : program.names) names[name] = real_json(value);
  for (const Rule& rule : program.layout.rules) rules.push_back({rule.dim, json_of(rule.axes, mesh)});
  const Json limited = limited_rules_json(program.layout);
  for (const Json& rule : limited.list()) rules.push_back(rule);
  for (const InputDecl& input : program.inputs) {
    Json json = {{"name", input.name}};
    json.update(type_json(input.type));
    json["data"] = input.source;
    inputs.push_back(std::move(json));
  }
  const auto variable = [&](const ProgramVariable& one) { return variable_json(one, mesh); };
  const auto entry_point = [&](const EntryPoint& one) { return entry_json(one, mesh); };
  Json json = {{"mtfc_program", kProgramVersion}, {"model", program.model}, {"mesh", json_of(mesh)}};
  if (!mesh.device_order().empty()) json["device_order"] = mesh.device_order();
  json["rules"] = std::move(rules);
  if (!program.layout.annotations.empty()) json["shardings"] = annotations_json(program.layout);
  if (program.layout.propagate) json["propagate"] = true;
  json.update(state_sharding_json(program.layout));
  json.update(rings_json(program.layout));
  json.update(Json{{"names", std::move(names)}, {"inputs", std::move(inputs)}});
  if (!program.loss.empty()) json["loss"] = program.loss;
  if (program.learning_rate) json["learning_rate"] = learning_rate_json(*program.learning_rate);
  json.update(Json{{"variables", json_list(program.variables, variable)},
                   {"entry_points", json_list(program.entry_points, entry_point)},
                   {"warnings", program.warnings}});
  return dump_lines(json, 4);
}

}  // namespace mtfc
