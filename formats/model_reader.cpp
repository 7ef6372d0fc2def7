#include "formats/model_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/optimizer.h"
#include "core/suggest.h"
#include "formats/cursor.h"
#include "formats/data_spec.h"
#include "formats/init_reader.h"
#include "formats/model_draft.h"
#include "formats/operation_reader.h"
#include "formats/train_reader.h"
#include "formats/type_reader.h"

namespace mtfc {
namespace {

constexpr int64_t kVersion = 1;

// False, with an error, for a version whose keys may mean anything.
bool check_version(const Cursor& root) {
  const std::optional<Cursor> version = root.find("mtfc");
  if (!version) {
    root.error("'mtfc' is missing", fmt::format("a model states its format version: \"mtfc\": {}", kVersion));
    return true;
  }
  const std::optional<int64_t> number = version->integer();
  if (!number || *number == kVersion) return true;
  version->error(fmt::format("format version {} is not known to this version of mtfc, which reads version {}",
                             *number, kVersion));
  return false;
}

// Someone has mixed up the two files of a command.
bool is_layout(const Cursor& root) {
  return (root.find("mesh") || root.find("rules")) && !root.find("mtfc") && !root.find("ops");
}

void check_texts(const Cursor& root, const std::string& file, Model& model) {
  model.file = file;
  model.name = file == "-" ? "model" : std::filesystem::path(file).stem().string();
  if (const auto name = root.find("name")) model.name = name->string().value_or(model.name);
}

void read_input(const NamedCursor& input, ModelDraft& draft) {
  const bool is_new = draft.symbols.define(input.key, SymbolKind::kInput, input.key_location);
  if (!input.value.check_keys({"dims", "dtype", "doc"}, {"sharding"})) return;
  const std::optional<TensorType> type = read_tensor_type(input.value, draft.scope);
  if (!type || !is_new) return;
  draft.builder.set_origin({input.key, input.value.location(), Phase::kForward});
  const TensorId tensor = draft.builder.add_input(input.key, *type);
  draft.builder.mark_from_model(tensor);
  draft.symbols.bind(input.key, tensor);
  draft.model.inputs.push_back({input.key, *type, "", input.key_location});
}

// Only a float has a gradient: other variables are not trained unless that was asked for, which is an error.
bool read_trainable(const Cursor& at, DType dtype) {
  const std::optional<Cursor> trainable = at.find("trainable");
  if (!trainable) return is_float(dtype);
  const bool wanted = trainable->flag().value_or(false);
  if (wanted && !is_float(dtype))
    trainable->error(fmt::format("a variable of type {} can't be trained", to_string(dtype)));
  return wanted;
}

void read_variable(const NamedCursor& variable, ModelDraft& draft) {
  const Cursor& at = variable.value;
  const std::optional<bool> chosen = is_chosen(at, draft);
  if (chosen == false) return draft.symbols.note_removed(variable.key);
  const bool is_new = draft.symbols.define(variable.key, SymbolKind::kVariable, variable.key_location);
  if (!at.check_keys({"dims", "dtype", "init", "trainable", "when", "doc"}, {"sharding"})) return;
  const std::optional<TensorType> type = read_tensor_type(at, draft.scope);
  if (!type) return;
  VariableDecl decl;
  decl.name = variable.key;
  decl.type = *type;
  decl.location = variable.key_location;
  if (const auto init = at.find("init")) decl.init = read_init(*init, *type, draft.scope);
  decl.trainable = read_trainable(at, type->dtype);
  if (!is_new) return;
  draft.builder.set_origin({variable.key, at.location(), Phase::kForward});
  const TensorId tensor = draft.builder.add_variable(variable.key, *type);
  draft.builder.mark_from_model(tensor);
  draft.symbols.bind(variable.key, tensor);
  draft.model.variables.push_back(std::move(decl));
}

void read_outputs(const Cursor& root, ModelDraft& draft) {
  Model& model = draft.model;
  const std::optional<Cursor> outputs = root.find("outputs");
  if (!outputs) {
    if (model.train)
      model.outputs = {{draft.builder.graph().tensor(model.train->loss).name, model.train->loss}};
    return;
  }
  for (const Cursor& item : outputs->items("a list of tensors")) {
    const std::optional<std::string> name = item.string("the name of a tensor");
    if (!name) continue;
    if (std::any_of(model.outputs.begin(), model.outputs.end(),
                    [&](const NamedTensor& other) { return other.name == *name; })) {
      item.error(fmt::format("'{}' is listed twice", *name));
      continue;
    }
    const Symbol* symbol = draft.symbols.use(*name, item.location());
    if (symbol && symbol->tensor != kNoTensor) model.outputs.push_back({*name, symbol->tensor});
  }
}

// The file is opened by a run; what is wrong whatever it holds is said here.
void check_source(const InputDecl& input, const std::string& spec, const Cursor& at, ModelDraft& draft) {
  try {
    check_data_spec({input.name, input.type.dtype, at.location()}, spec, draft.scope.lookup());
  } catch (const UserError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) at.error(diagnostic.message, diagnostic.hint);
  } catch (const ExpressionError&) {
    draft.sink.consequence();
  }
}

void read_data(const Cursor& data, ModelDraft& draft) {
  std::vector<InputDecl>& inputs = draft.model.inputs;
  for (const NamedCursor& member : data.members("an object {input: source}")) {
    const std::optional<std::string> spec = member.value.string("a source of data");
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const InputDecl& decl) { return decl.name == member.key; });
    if (input != inputs.end()) {
      input->source = spec.value_or("");
      input->source_location = member.value.location();
      if (spec) check_source(*input, *spec, member.value, draft);
      continue;
    }
    if (const Symbol* symbol = draft.symbols.find(member.key); symbol && symbol->kind == SymbolKind::kInput)
      continue;
    std::vector<std::string> names;
    for (const InputDecl& decl : inputs) names.push_back(decl.name);
    draft.sink.error(member.key_location, fmt::format("unknown input '{}'", member.key),
                     did_you_mean(member.key, names));
  }
}

// The optimizer assigns every trainable variable, so nothing else may.
void check_assignments(ModelDraft& draft) {
  if (!draft.model.train) return;
  for (const Assignment& assignment : draft.model.assignments)
    for (const VariableDecl& decl : draft.model.variables)
      if (decl.name == assignment.variable && decl.trainable)
        draft.sink.error(assignment.location,
                         fmt::format("'{}' is assigned here and by the optimizer", decl.name),
                         "state \"trainable\": false for it");
}

// Training makes tensors under names of its own, which layouts and `outputs` go by.
void check_training_names(ModelDraft& draft) {
  if (!draft.model.train) return;
  const OptimizerDef& optimizer = *find_optimizer(draft.model.train->optimizer);
  for (const VariableDecl& decl : draft.model.variables) {
    if (!decl.trainable) continue;
    std::vector<std::pair<std::string, std::string>> made = {{decl.name + "/grad", "the gradient"}};
    for (const std::string_view slot : optimizer.slots)
      made.emplace_back(fmt::format("{}/{}", decl.name, slot), "a state of the optimizer");
    for (const auto& [name, what] : made)
      if (const Symbol* symbol = draft.symbols.find(name))
        draft.sink.error(symbol->location,
                         fmt::format("'{}' names {} of the variable '{}'", name, what, decl.name),
                         "give it another name, or don't train the variable");
  }
}

void warn_unused(ModelDraft& draft) {
  for (const auto& [name, symbol] : draft.symbols.all()) {
    if (symbol.used || symbol.kind == SymbolKind::kOperation) continue;
    draft.sink.warning(symbol.location,
                       fmt::format("the {} '{}' is not used",
                                   symbol.kind == SymbolKind::kInput ? "input" : "variable", name));
  }
}

// A run would do nothing.
void warn_idle(const Cursor& root, ModelDraft& draft) {
  const Model& model = draft.model;
  if (!model.outputs.empty() || model.train || !model.assignments.empty()) return;
  draft.sink.warning(root.find("outputs").value_or(root).location(),
                     "the model has no outputs and does not train: running it computes nothing",
                     "name tensors under \"outputs\"");
}

// The tensors that `last` is made from, itself included.
std::vector<bool> ancestors(const Graph& graph, TensorId last) {
  std::vector<bool> needed(graph.tensors().size(), false);
  needed[static_cast<size_t>(last)] = true;
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    const bool is_needed = std::any_of(node.results.begin(), node.results.end(),
                                       [&](TensorId id) { return needed[static_cast<size_t>(id)]; });
    if (!is_needed) continue;
    for (const TensorId operand : node.operands) needed[static_cast<size_t>(operand)] = true;
  }
  return needed;
}

void warn_untrained(ModelDraft& draft) {
  const Model& model = draft.model;
  if (!model.train) return;
  const Graph& graph = draft.builder.graph();
  const std::vector<bool> needed = ancestors(graph, model.train->loss);
  bool trains = false;
  for (const VariableDecl& decl : model.variables) {
    if (!decl.trainable) continue;
    trains = true;
    const Symbol& symbol = *draft.symbols.find(decl.name);
    if (symbol.used && !needed[static_cast<size_t>(symbol.tensor)])
      draft.sink.warning(
          decl.location,
          fmt::format("the loss does not depend on the variable '{}', which is to be trained", decl.name),
          "state \"trainable\": false for it");
  }
  if (!trains)
    draft.sink.warning(model.train->location, "the model has no variable to train",
                       "training would change nothing");
}

void read_tensors(const Cursor& root, ModelDraft& draft) {
  if (const auto inputs = root.find("inputs"))
    for (const NamedCursor& input : inputs->members("an object {name: input}")) read_input(input, draft);
  if (const auto variables = root.find("variables"))
    for (const NamedCursor& variable : variables->members("an object {name: variable}"))
      read_variable(variable, draft);
  const std::optional<Cursor> ops = root.find("ops");
  if (ops) OperationReader(draft).read(*ops);
  if (!ops || !ops->is(JsonKind::kArray)) draft.symbols.expect_gaps();
  if (const auto train = root.find("train")) draft.model.train = read_train(*train, draft);
  read_outputs(root, draft);
  if (!ops && draft.symbols.has_missed()) root.require("ops");
  if (const auto data = root.find("data")) read_data(*data, draft);
  check_assignments(draft);
  check_training_names(draft);
  if (draft.sink.failed()) return;
  warn_unused(draft);
  warn_idle(root, draft);
  warn_untrained(draft);
}

}  // namespace

Model read_model(std::string_view text, const std::string& file, const std::vector<std::string>& sets,
                 std::vector<Diagnostic>& warnings) {
  const JsonValue json = parse_json(text, file);
  DiagnosticSink sink;
  const Cursor root(json, file, sink);
  if (is_layout(root)) {
    root.error("this is a layout, not a model", "give it with --layout");
    sink.finish(warnings);
  }
  if (root.is(JsonKind::kObject) && !check_version(root)) sink.finish(warnings);
  const bool is_object = root.check_keys(
      {"mtfc", "name", "doc", "params", "dims", "inputs", "variables", "ops", "train", "outputs", "data"},
      {"include", "blocks", "decode"});
  if (!is_object) sink.finish(warnings);
  const std::optional<Cursor> params = root.find("params"), dims = root.find("dims");
  const ModelScope scope(params, dims, sets, sink);
  // Without any names every further message would be noise.
  if ((params && !params->is(JsonKind::kObject)) || (dims && !dims->is(JsonKind::kObject)))
    sink.finish(warnings);
  ModelDraft draft(scope, sink);
  check_texts(root, file, draft.model);
  draft.model.dims = scope.dims();
  draft.model.params = scope.params();
  read_tensors(root, draft);
  sink.finish(warnings);
  draft.model.graph = std::move(draft.builder).build();
  return std::move(draft.model);
}

}  // namespace mtfc
