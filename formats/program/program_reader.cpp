#include "formats/program/program_reader.h"

#include <fmt/format.h>

#include <limits>

#include "core/diagnostics/suggest.h"
#include "core/graph/op_registry.h"
#include "core/program/program_check.h"
#include "formats/data/data_spec.h"
#include "formats/data/name_map.h"
#include "formats/data/safetensors.h"
#include "formats/json/cursor.h"
#include "formats/layout/layout_checks.h"
#include "formats/program/program_writer.h"

namespace mtfc {
namespace {

class ProgramReader {
 public:
  explicit ProgramReader(const Cursor& root) : root_(root) {}

  Program read() {
    root_.check_keys({"mtfc_program",    "model",           "mesh",         "device_order",
                      "rules",           "shardings",       "propagate",    "shard_state_over",
                      "shard_gradients", "shard_variables", "regather",     "ring",
                      "names",           "inputs",          "loss",         "learning_rate",
                      "variables",       "weights",         "entry_points", "warnings",
                      "between"});
    program_.model = text(root_, "model");
    read_mesh();
    read_splits();
    if (const auto names = root_.require("names"))
      for (const NamedCursor& member : names->members("an object {name: number}"))
        program_.names[member.key] = real(member.value);
    for (const Cursor& at : list(root_, "inputs")) program_.inputs.push_back(input(at));
    if (const auto loss = root_.find("loss")) program_.loss = loss->string().value_or("");
    if (const auto rate = root_.find("learning_rate")) program_.learning_rate = learning_rate(*rate);
    for (const Cursor& at : list(root_, "variables")) program_.variables.push_back(variable(at));
    std::set<std::string> scales;
    for (const ProgramVariable& scaled : program_.variables) scales.insert(scaled.decl.scale);
    for (ProgramVariable& scale : program_.variables) scale.decl.is_scale = scales.contains(scale.decl.name);
    if (const auto weights = root_.find("weights"))
      for (const Cursor& at : weights->items()) program_.weights.push_back(rule(at));
    for (const Cursor& at : list(root_, "entry_points")) program_.entry_points.push_back(entry_point(at));
    for (const Cursor& at : list(root_, "warnings")) program_.warnings.push_back(at.string().value_or(""));
    return std::move(program_);
  }

 private:
  // -- values under a key; mistakes are recorded, and something harmless is returned --

  static std::vector<Cursor> list(const Cursor& at, const char* key) {
    const auto found = at.require(key);
    return found ? found->items() : std::vector<Cursor>{};
  }
  static std::string rule(const Cursor& at) {
    const std::string text = at.string().value_or("");
    if (const std::string problem = rule_problem(text); !problem.empty()) at.error(problem);
    return text;
  }
  static std::string text(const Cursor& at, const char* key) {
    const auto found = at.require(key);
    return found ? found->string().value_or("") : "";
  }
  static bool flag(const Cursor& at, const char* key) {
    const auto found = at.require(key);
    return found && found->flag().value_or(false);
  }
  static int64_t integer(const Cursor& at, const char* key) {
    const auto found = at.require(key);
    return found ? found->integer().value_or(0) : 0;
  }
  static int index(const Cursor& at) {
    const int64_t value = at.integer().value_or(0);
    if (value >= -1 && value < std::numeric_limits<int>::max()) return static_cast<int>(value);
    at.error(fmt::format("{} is not an index", value));
    return 0;
  }
  static int index(const Cursor& at, const char* key) {
    const auto found = at.require(key);
    return found ? index(*found) : 0;
  }
  static std::vector<ValueId> values(const Cursor& at, const char* key) {
    std::vector<ValueId> found;
    for (const Cursor& item : list(at, key)) found.push_back(ValueId(index(item)));
    return found;
  }
  // Reads a number, or the word for a value that JSON numbers lack.
  static double real(const Cursor& at) {
    if (at.is(JsonKind::kNumber)) return at.value().number();
    const std::string word = at.is(JsonKind::kString) ? at.value().text : "";
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    at.expected("a number, \"inf\", \"-inf\" or \"nan\"");
    return 0;
  }
  static double real(const Cursor& at, const char* key) {
    const auto found = at.require(key);
    return found ? real(*found) : 0;
  }
  template <NamedEnum Enum>
  static Enum word(const Cursor& at, std::string_view what) {
    const std::optional<std::string> found = at.string();
    if (!found) return Enum{};
    const std::optional<Enum> value = value_named<Enum>(*found);
    if (!value)
      at.error(fmt::format("unknown {} '{}'", what, *found), did_you_mean(*found, enum_names<Enum>()));
    return value.value_or(Enum{});
  }
  template <NamedEnum Enum>
  static Enum word(const Cursor& at, const char* key, std::string_view what) {
    const auto found = at.require(key);
    return found ? word<Enum>(*found, what) : Enum{};
  }
  // Returns the `count` items of a short list.
  static std::vector<Cursor> parts(const Cursor& at, size_t count, std::string_view what) {
    const std::vector<Cursor> items = at.items(what);
    if (items.size() == count) return items;
    if (at.is(JsonKind::kArray)) at.error(fmt::format("expected {}", what));
    return {};
  }

  // -- mesh, shapes and shardings --

  void read_mesh() {
    MeshChecker checker(root_.sink());
    for (const Cursor& at : list(root_, "mesh"))
      if (const auto pair = parts(at, 2, "[axis, size]"); !pair.empty()) {
        const auto name = pair[0].string();
        const auto size = pair[1].integer();
        if (name && size) checker.add(*name, *size, pair[0].location(), pair[1].location());
      }
    program_.layout.mesh = std::move(checker).mesh();
    if (const auto order = root_.find("device_order"))
      program_.layout.mesh = with_device_order(program_.layout.mesh, *order);
  }

  void read_splits() {
    if (const auto rules = root_.require("rules")) read_rules(*rules, program_.layout);
    if (const auto shardings = root_.find("shardings"))
      program_.layout.annotations = read_annotations(*shardings, mesh());
    if (const auto between = root_.find("between")) program_.layout.between = read_between(*between, mesh());
    if (const auto propagate = root_.find("propagate"))
      program_.layout.propagate = propagate->flag().value_or(false);
    program_.layout.state = read_state_sharding(root_, mesh());
    program_.layout.rings = read_rings(root_);
  }

  static LearningRate learning_rate(const Cursor& at) {
    if (const auto product = at.find("product")) {
      at.check_keys({"product"});
      LearningRate rate;
      for (const Cursor& factor : product->items()) multiply_by(factor, rate);
      return rate;
    }
    LearningRate rate;
    multiply_by(at, rate);
    return rate;
  }

  static void multiply_by(const Cursor& at, LearningRate& rate) {
    if (!at.is(JsonKind::kObject)) {
      rate.constant *= real(at);
      return;
    }
    at.check_keys({"schedule", "peak", "warmup", "hold", "steps", "end"});
    rate.schedules.push_back({word<ScheduleKind>(at, "schedule", "schedule"), real(at, "peak"),
                              real(at, "warmup"), real(at, "steps"), real(at, "end"),
                              at.find("hold") ? real(at, "hold") : 0});
  }

  const Mesh& mesh() const { return program_.layout.mesh; }

  std::optional<int> axis(const std::string& name, const Location& location) const {
    const int found = mesh().find(name);
    if (found >= 0) return found;
    root_.sink().error(location, fmt::format("unknown axis '{}'", name),
                       did_you_mean(name, all_names(mesh().axes())));
    return std::nullopt;
  }

  AxisList axes(const Cursor& at) const {
    AxisList found;
    for (const Cursor& item : at.items("a list of axes"))
      if (const auto name = item.string())
        if (const auto number = axis(*name, item.location())) found.push_back(*number);
    return found;
  }

  static Dim dim(const Cursor& at) {
    const auto pair = parts(at, 2, "[dimension, size]");
    if (pair.empty()) return {"", 1};
    return {pair[0].string().value_or(""), pair[1].integer().value_or(1)};
  }
  static Dims dims(const Cursor& at) {
    Dims found;
    for (const Cursor& item : at.items("a list of [dimension, size]")) found.push_back(dim(item));
    return found;
  }

  static TensorType type(const Cursor& at) {
    const auto found = at.require("dims");
    return {word<DType>(at, "dtype", "dtype"), found ? dims(*found) : Dims{}};
  }

  Sharding sharding(const Cursor& parent) const {
    Sharding found;
    const auto at = parent.require("sharding");
    if (!at) return found;
    at->check_keys({"dims", "partial", "windows"});
    for (const Cursor& item : list(*at, "dims")) found.dims.push_back(axes(item));
    if (const auto partial = at->find("partial"))
      for (const NamedCursor& member : partial->members("an object {axis: kind}"))
        if (const auto number = axis(member.key, member.key_location))
          found.partial.push_back({*number, word<ReduceKind>(member.value, "reduction")});
    std::sort(found.partial.begin(), found.partial.end());
    if (const auto windows = at->find("windows"))
      for (const Cursor& item : windows->items("a list of [dimension, size, step, low, span, base]"))
        if (const auto numbers = parts(item, 6, "[dimension, size, step, low, span, base]"); !numbers.empty())
          found.windows.push_back(window_split(numbers));
    return found;
  }

  // Numbers that no window has are refused by the check of the program.
  static WindowSplit window_split(const std::vector<Cursor>& numbers) {
    const auto number = [&](size_t i) { return numbers[i].integer().value_or(0); };
    return {static_cast<size_t>(number(0)), number(1), number(2), number(3), number(4), number(5)};
  }

  // -- inputs and variables --

  InputDecl input(const Cursor& at) const {
    at.check_keys({"name", "dtype", "dims", "data"});
    InputDecl found{text(at, "name"), type(at), text(at, "data"), at.location()};
    if (found.source.empty()) return found;
    const Cursor data = *at.find("data");
    found.source_location = data.location();
    try {
      check_data_spec({found.name, found.type.dtype, data.location()}, found.source,
                      lookup_of(program_.names));
    } catch (const UserError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics())
        data.error(diagnostic.message, diagnostic.hint);
    }
    return found;
  }

  ProgramVariable variable(const Cursor& at) const {
    at.check_keys({"name", "dtype", "dims", "sharding", "trainable", "optimizer_state", "group", "scale",
                   "init", "offset", "bytes"});
    ProgramVariable found;
    found.decl.name = text(at, "name");
    if (const std::string problem = name_problem(found.decl.name); !problem.empty()) at.error(problem);
    found.decl.type = type(at);
    found.decl.trainable = flag(at, "trainable");
    found.decl.optimizer_state = flag(at, "optimizer_state");
    if (at.find("group")) found.decl.group = text(at, "group");
    if (at.find("scale")) found.decl.scale = text(at, "scale");
    found.decl.location = at.location();
    if (const auto init = at.find("init")) {
      init->check_keys({"kind", "a", "b"});
      found.decl.init =
          Init{word<InitKind>(*init, "kind", "kind of initial values"), real(*init, "a"), real(*init, "b")};
    }
    found.sharding = sharding(at);
    found.offset = integer(at, "offset");
    found.bytes = integer(at, "bytes");
    return found;
  }

  // -- entry points --

  EntryPoint entry_point(const Cursor& at) const {
    at.check_keys({"name", "plan", "caches", "arena_bytes", "useful_einsum_flops", "needed_flops", "inputs",
                   "outputs", "values", "buffers", "steps"});
    EntryPoint entry;
    entry.name = text(at, "name");
    if (at.find("caches"))
      for (const Cursor& item : list(at, "caches")) entry.caches.push_back(variable(item));
    if (const auto plan = at.find("plan")) {
      plan->check_keys({"cost", "bound", "hardware"});
      entry.plan = PlanFigures{integer(*plan, "cost"), integer(*plan, "bound"),
                               plan->find("hardware") ? text(*plan, "hardware") : ""};
    }
    entry.arena_bytes = integer(at, "arena_bytes");
    entry.useful.flops = integer(at, "useful_einsum_flops");
    if (const auto needed = at.find("needed_flops")) entry.useful.needed = flops_by_dtype(*needed);
    entry.inputs = bindings(at, "inputs");
    entry.outputs = bindings(at, "outputs");
    for (const Cursor& item : list(at, "values")) entry.values.push_back(value(item));
    for (const Cursor& item : list(at, "buffers")) entry.buffers.push_back(buffer(item));
    for (const Cursor& item : list(at, "steps")) entry.steps.push_back(step(item));
    return entry;
  }

  static std::map<DType, int64_t> flops_by_dtype(const Cursor& at) {
    std::map<DType, int64_t> found;
    for (const NamedCursor& member : at.members("an object {dtype: flops}")) {
      if (const auto dtype = value_named<DType>(member.key))
        found[*dtype] = member.value.integer().value_or(0);
      else
        at.sink().error(member.key_location, fmt::format("unknown dtype '{}'", member.key),
                        did_you_mean(member.key, enum_names<DType>()));
    }
    return found;
  }

  static std::vector<Binding> bindings(const Cursor& at, const char* key) {
    std::vector<Binding> found;
    for (const Cursor& item : list(at, key)) {
      item.check_keys({"name", "value"});
      found.push_back({text(item, "name"), ValueId(index(item, "value"))});
    }
    return found;
  }

  Value value(const Cursor& at) const {
    at.check_keys({"name", "dtype", "dims", "sharding", "buffer", "alias_of", "from_model"});
    Value found;
    found.name = text(at, "name");
    found.type = type(at);
    found.sharding = sharding(at);
    found.buffer = BufferId(index(at, "buffer"));
    found.from_model = at.find("from_model") && flag(at, "from_model");
    if (const auto alias = at.find("alias_of")) found.alias_of = ValueId(index(*alias));
    return found;
  }

  static Buffer buffer(const Cursor& at) {
    at.check_keys({"kind", "bytes", "offset", "first_step", "last_step"});
    return {word<BufferKind>(at, "kind", "kind of buffer"), integer(at, "bytes"), integer(at, "offset"),
            index(at, "first_step"), index(at, "last_step")};
  }

  Step step(const Cursor& at) const {
    at.check_keys({"kind", "name", "source", "phase", "inputs", "outputs", "workspace", "op", "attributes",
                   "collective", "axes", "reduce", "turning", "started", "parts", "partner", "times"});
    Step found;
    found.name = text(at, "name");
    found.source = text(at, "source");
    found.phase = word<Phase>(at, "phase", "phase");
    found.inputs = values(at, "inputs");
    found.outputs = values(at, "outputs");
    if (const auto workspace = at.find("workspace")) found.workspace = BufferId(index(*workspace));
    found.action = action(at);
    if (const auto times = at.find("times"); times && !found.as<BeginLoop>())
      times->error("'times' is not allowed here");
    return found;
  }

  Action action(const Cursor& at) const {
    switch (word<StepKind>(at, "kind", "kind of step")) {
      case StepKind::kKernel:
        return operation(at);
      case StepKind::kFused:
        return RunFused{members(at)};
      case StepKind::kRing:
        return RunRing{operation(at), axes_of_step(at), word<Turning>(at, "turning", "turning tensor")};
      case StepKind::kSlice:
        return KeepSlice{};
      case StepKind::kStart:
        return StartCollective{collective(at), at.find("op") ? operation(at) : RunKernel{}};
      case StepKind::kWait:  // complete_waits() adds the collective of its start
        return AwaitCollective{{}, StepIndex(index(at, "started"))};
      case StepKind::kLoop:
        return BeginLoop{partner(at), at.find("times") ? integer(at, "times") : 0};
      case StepKind::kLeave:
        return LeaveLoop{partner(at)};
      case StepKind::kRepeat:
        return RepeatLoop{partner(at)};
    }
    return {};
  }

  static StepIndex partner(const Cursor& at) { return StepIndex(index(at, "partner")); }

  std::vector<Step> members(const Cursor& at) const {
    std::vector<Step> found;
    for (const Cursor& item : list(at, "parts"))
      if (text(item, "kind") == to_string(StepKind::kKernel))
        found.push_back(step(item));
      else
        item.error("a member must be a kernel");
    return found;
  }

  AxisList axes_of_step(const Cursor& at) const {
    const auto list = at.require("axes");
    return list ? axes(*list) : AxisList{};
  }

  Collective collective(const Cursor& at) const {
    Collective found;
    found.kind = word<CollectiveKind>(at, "collective", "collective");
    found.axes = axes_of_step(at);
    found.reduce = word<ReduceKind>(at, "reduce", "reduction");
    return found;
  }

  static RunKernel operation(const Cursor& at) {
    RunKernel found;
    const std::string name = text(at, "op");
    found.op = find_op(name);
    if (const auto op_at = at.find("op"); !found.op && op_at && op_at->is(JsonKind::kString)) {
      std::vector<std::string> known;
      for (const OpDef* op : all_ops()) known.emplace_back(op->signature.name);
      op_at->error(fmt::format("unknown operation '{}'", name), did_you_mean(name, known));
    }
    if (const auto attributes = at.require("attributes"))
      for (const NamedCursor& member : attributes->members())
        if (const auto value = attribute(member.value)) found.attributes.set(member.key, *value);
    return found;
  }

  // {"type": "dims", "value": …}
  static std::optional<AttributeValue> attribute(const Cursor& at) {
    if (!at.check_keys({"type", "value"})) return std::nullopt;
    const std::string type = text(at, "type");
    const auto value = at.require("value");
    if (!value) return std::nullopt;
    if (type == "flag") return value->flag().value_or(false);
    if (type == "integer") return value->integer().value_or(0);
    if (type == "number") return real(*value);
    if (type == "text") return value->string().value_or("");
    if (type == "dtype") return word<DType>(*value, "dtype");
    if (type == "dim") return dim(*value);
    if (type == "dims") return dims(*value);
    if (type == "renaming") return renaming(*value);
    if (type == "windows") return windows(*value);
    if (const auto type_at = at.find("type"); type_at && type_at->is(JsonKind::kString))
      type_at->error(fmt::format("unknown type of attribute '{}'", type),
                     did_you_mean(type, {"flag", "integer", "number", "text", "dtype", "dim", "dims",
                                         "renaming", "windows"}));
    return std::nullopt;
  }

  static std::vector<Renaming> renaming(const Cursor& at) {
    std::vector<Renaming> map;
    for (const Cursor& item : at.items("a list of [old, new, size]"))
      if (const auto three = parts(item, 3, "[old, new, size]"); !three.empty())
        map.push_back({three[0].string().value_or(""),
                       {three[1].string().value_or(""), three[2].integer().value_or(1)}});
    return map;
  }

  static Windows windows(const Cursor& at) {
    std::vector<std::string> keys = {"dim", "taps", "to"};
    for (const WindowNumber& number : window_numbers()) keys.emplace_back(number.key);
    Windows found;
    for (const Cursor& item : at.items("a list of windows")) {
      if (!item.check_keys(keys)) continue;
      Window window;
      for (const auto& [key, member] :
           {std::pair("dim", &Window::dim), std::pair("taps", &Window::taps), std::pair("to", &Window::to)})
        if (const auto value = item.require(key)) window.*member = dim(*value);
      for (const WindowNumber& number : window_numbers())
        if (const auto value = item.require(number.key))
          window.*number.member =
              std::max(number.usual > 0 ? number.least : INT64_MIN, value->integer().value_or(number.usual));
      found.push_back(std::move(window));
    }
    return found;
  }

  Cursor root_;
  Program program_;
};

// Copies to each wait the description of its start, so that every step is complete by itself.
void complete_waits(Program& program) {
  for (EntryPoint& entry : program.entry_points)
    for (Step& step : entry.steps) {
      auto* wait = step.as<AwaitCollective>();
      if (!wait || !entry.steps.has(wait->start)) continue;
      if (const auto* start = entry.steps[wait->start].as<StartCollective>())
        wait->collective = start->collective;
    }
}

// Returns the location in the file that `pointer` names.
Location place_of(const JsonValue& root, const std::string& file, const std::string& pointer) {
  const JsonValue* at = &root;
  for (size_t begin = 1; begin < pointer.size();) {
    const size_t end = std::min(pointer.find('/', begin), pointer.size());
    const std::string token = pointer.substr(begin, end - begin);
    const JsonValue* next =
        at->kind == JsonKind::kArray ? &at->items.at(std::stoull(token)) : at->find(token);
    if (!next) break;
    at = next;
    begin = end + 1;
  }
  return {file, at->place.line, at->place.column, pointer};
}

}  // namespace

bool is_program(std::string_view text) {
  static constexpr std::string_view kKey = "\"mtfc_program\"";
  const size_t at = text.find(kKey);
  if (at == std::string_view::npos) return false;
  const size_t next = text.find_first_not_of(" \t\r\n", at + kKey.size());
  return next != std::string_view::npos && text[next] == ':';
}

namespace {

Program unchecked(const JsonValue& root, const std::string& file) {
  DiagnosticSink sink;
  const Cursor at(root, file, sink);
  const auto version = at.require("mtfc_program");
  if (version && version->integer() != kProgramVersion)
    version->error(fmt::format("this is a program of version {}, but this mtfc reads version {}",
                               version->is(JsonKind::kNumber) ? version->value().text : "?", kProgramVersion),
                   "compile the model again");
  Program program;
  if (!sink.failed()) program = ProgramReader(at).read();
  std::vector<Diagnostic> warnings;
  sink.finish(warnings);
  complete_waits(program);
  return program;
}

}  // namespace

Program read_sent_program(std::string_view text) {
  const std::string name = "the program of rank 0";
  return unchecked(parse_json(text, name), name);
}

Program read_program(std::string_view text, const std::string& file) {
  const JsonValue root = parse_json(text, file);
  Program program = unchecked(root, file);
  if (const std::optional<ProgramFault> fault = find_program_fault(program))
    throw UserError(std::vector<Diagnostic>{{place_of(root, file, fault->pointer), fault->what(),
                                             "compile the model again rather than edit its program"}});
  return program;
}

}  // namespace mtfc
