#include "formats/model/model_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/compile/pipeline.h"
#include "core/diagnostics/suggest.h"
#include "core/graph/gradient_flow.h"
#include "core/graph/reachability.h"
#include "core/model/training.h"
#include "formats/data/data_spec.h"
#include "formats/data/name_map.h"
#include "formats/json/cursor.h"
#include "formats/model/include_reader.h"
#include "formats/model/model_draft.h"
#include "formats/model/operation_reader.h"
#include "formats/model/part_readers.h"
#include "formats/model/type_reader.h"

namespace mtfc {
namespace {

// Recognizes a layout file, in case the two files of a command were mixed up.
bool is_layout(const Cursor& root) {
  return (root.find("mesh") || root.find("rules")) && !root.find("mtfc") && !root.find("ops");
}

// Recognizes a hardware profile by keys that no model has.
bool is_hardware(const Cursor& root) {
  return root.find("flops") && (root.find("axes") || root.find("memory_bandwidth")) && !root.find("mtfc") &&
         !root.find("ops");
}

// Reports unknown keys. If there are any, all that stands under them is missing, and an error at each of its uses
// would be noise.
bool has_known_keys(const Cursor& root) {
  const std::vector<std::string> known = {"mtfc",   "name",      "doc",       "include", "params", "dims",
                                          "inputs", "variables", "blocks",    "ops",     "train",  "outputs",
                                          "data",   "decode",    "precision", "import",  "weights"};
  return root.check_keys(known) &&
         std::all_of(root.value().members.begin(), root.value().members.end(), [&](const JsonMember& member) {
           return std::find(known.begin(), known.end(), member.key) != known.end();
         });
}

void check_texts(const Cursor& root, const std::string& file, Model& model) {
  model.file = file;
  model.name = file == "-" ? "model" : std::filesystem::path(file).stem().string();
  if (const auto name = root.find("name")) model.name = name->string().value_or(model.name);
}

void read_input(const NamedCursor& input, ModelDraft& draft) {
  if (is_chosen(input.value, draft) == false) return draft.symbols.note_removed(input.key);
  const bool is_new = draft.symbols.define(input.key, SymbolKind::kInput, input.key_location);
  if (!input.value.check_keys({"dims", "dtype", "sharding", "doc", "when"})) return;
  std::optional<TensorType> type = read_tensor_type(input.value, draft.scope);
  if (!type || !is_new) return;
  type->dtype = draft.builder.widened(type->dtype);
  add_input(input, *type, draft);
}

bool ends_with_known(const std::string& name, std::string_view ending, const ModelDraft& draft) {
  return name.ends_with(ending) && draft.symbols.find(name.substr(0, name.size() - ending.size()));
}

// Explains why the model doesn't have a tensor that training would make under this name. Returns false if
// `name` is no such name.
bool explain_training_name(const Cursor& item, const std::string& name, const ModelDraft& draft) {
  if (!name.starts_with("train/") && !ends_with_known(name, "/grad", draft)) return false;
  const std::string message = fmt::format("unknown tensor '{}'", name);
  if (!draft.model.train)
    item.error(message, "training would make it, but the model has no \"train\"");
  else if (name == kStepName)
    item.error(message,
               fmt::format("'{}' with a constant lr does not count its steps", draft.model.train->optimizer));
  else if (name.ends_with("/grad"))
    item.error(message, "only variables that are trained have one");
  else
    item.error(message, did_you_mean(name, training_names(draft.model)));
  return true;
}

// Reads the name of a tensor that only training makes. Returns false if `name` is none.
bool read_training_output(const Cursor& root, const Cursor& item, const std::string& name,
                          ModelDraft& draft) {
  Model& model = draft.model;
  if (draft.symbols.is_known(name)) return false;
  if (root.find("train") && !model.train) {  // its mistakes have been reported
    draft.sink.consequence();
    return name.find('/') != std::string::npos;
  }
  const std::vector<std::string> names = model.train ? training_names(model) : std::vector<std::string>();
  if (std::find(names.begin(), names.end(), name) == names.end())
    return explain_training_name(item, name, draft);
  model.train_outputs.push_back({name, model.outputs.size() + model.train_outputs.size()});
  return true;
}

void read_outputs(const Cursor& root, ModelDraft& draft) {
  Model& model = draft.model;
  const std::optional<Cursor> outputs = root.find("outputs");
  if (!outputs) {
    if (model.train) model.outputs = {{root.find("train")->find("loss")->value().text, model.train->loss}};
    return;
  }
  std::set<std::string> listed;
  for (const Cursor& item : outputs->items("a list of tensors")) {
    const std::optional<std::string> name = item.string("the name of a tensor");
    if (!name) continue;
    if (listed.contains(*name)) {
      item.error(fmt::format("'{}' is listed twice", *name));
      continue;
    }
    const size_t before = model.train_outputs.size();
    if (read_training_output(root, item, *name, draft)) {
      if (model.train_outputs.size() > before) listed.insert(*name);
      continue;
    }
    const Symbol* symbol = draft.symbols.use(*name, item.location());
    if (!symbol || symbol->tensor == kNoTensor) continue;
    listed.insert(*name);
    model.outputs.push_back({*name, symbol->tensor});
  }
}

// A run opens the file; mistakes that don't depend on its contents are reported here.
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
  std::map<std::string_view, InputDecl*> by_name;
  for (InputDecl& input : inputs) by_name.emplace(input.name, &input);
  for (const NamedCursor& member : data.members("an object {input: source}")) {
    const std::optional<std::string> spec = member.value.string("a source of data");
    if (draft.symbols.is_removed(member.key)) continue;
    if (const auto found = by_name.find(member.key); found != by_name.end()) {
      InputDecl& input = *found->second;
      input.source = spec.value_or("");
      input.source_location = member.value.location();
      if (spec) check_source(input, *spec, member.value, draft);
      continue;
    }
    if (const Symbol* symbol = draft.symbols.find(member.key); symbol && symbol->kind == SymbolKind::kInput)
      continue;
    draft.sink.error(member.key_location, fmt::format("unknown input '{}'", member.key),
                     did_you_mean(member.key, all_names(inputs)));
  }
}

// The optimizer assigns every trainable variable, so nothing else may.
void check_assignments(ModelDraft& draft) {
  if (!draft.model.train) return;
  std::set<std::string_view> trained;
  for (const VariableDecl& decl : draft.model.variables)
    if (decl.trainable) trained.insert(decl.name);
  for (const Assignment& assignment : draft.model.assignments)
    if (trained.contains(assignment.variable))
      draft.sink.error(assignment.location,
                       fmt::format("'{}' is assigned here and by the optimizer", assignment.variable),
                       "set \"trainable\": false for it");
}

// Training makes tensors under names of its own, which layouts and `outputs` refer to.
void check_training_names(ModelDraft& draft) {
  if (!draft.model.train) return;
  const TrainSpec& train = *draft.model.train;
  bool trains = false;
  for (const VariableDecl& decl : draft.model.variables) {
    if (!decl.trainable) continue;
    trains = true;
    std::vector<std::pair<std::string, std::string>> made = {{decl.name + "/grad", "the gradient"}};
    for (const VariableDecl& state : state_of(train, decl))
      made.emplace_back(state.name, "a state of the optimizer");
    for (const auto& [name, what] : made)
      if (const Symbol* symbol = draft.symbols.find(name))
        draft.sink.error(symbol->location,
                         fmt::format("'{}' names {} of the variable '{}'", name, what, decl.name),
                         "give it another name, or don't train the variable");
  }
  for (const char* name : {kStepName, kRateName, kNormName})
    if (const Symbol* symbol = draft.symbols.find(name); symbol && trains)
      draft.sink.error(symbol->location, fmt::format("'{}' names a tensor of training itself", name),
                       "give it another name");
}

void warn_unused(ModelDraft& draft) {
  for (const auto& [name, symbol] : draft.symbols.all()) {
    if (symbol.used || symbol.kind == SymbolKind::kOperation) continue;
    draft.sink.warning(symbol.location,
                       fmt::format("the {} '{}' is not used",
                                   symbol.kind == SymbolKind::kInput ? "input" : "variable", name));
  }
}

void warn_unused_blocks(ModelDraft& draft) {
  for (const auto& [name, block] : draft.blocks.all())
    if (!block.used && !block.standard)
      draft.sink.warning(block.location, fmt::format("the block '{}' is not used", name));
}

// Warns if a run would do nothing.
void warn_idle(const Cursor& root, ModelDraft& draft) {
  const Model& model = draft.model;
  if (!model.outputs.empty() || model.train || !model.assignments.empty()) return;
  draft.sink.warning(root.find("outputs").value_or(root).location(),
                     "the model has no outputs and does not train: running it computes nothing",
                     "name tensors under \"outputs\"");
}

// `argmax, which makes 'best' (model.json:7), has no gradient`
std::string stop_text(const Graph& graph, TensorId variable, const PerTensor<bool>& needed) {
  const Node* stop = gradient_stop(graph, variable, needed);
  if (!stop) return "no operation that leads there has a gradient";
  const Location& at = stop->origin->location;
  const std::string place = at.line > 0 ? fmt::format(" ({}:{})", at.file, at.line) : "";
  const std::string_view name = stop->op          ? stop->op->signature.name
                                : stop->composite ? stop->composite->signature.name
                                                  : "the loop";
  return fmt::format("{}, which makes '{}'{}, has no gradient", name, graph.tensor(stop->results[0]).name,
                     place);
}

// Warns of variables that the loss depends on, but has no gradient for.
void warn_without_gradient(const std::vector<const VariableDecl*>& trained, const PerTensor<bool>& needed,
                           ModelDraft& draft) {
  const Graph& graph = draft.builder.graph();
  const TrainSpec& train = *draft.model.train;
  const PerTensor<bool> reached = with_gradient(graph, train.loss);
  const auto tensor_of = [&](const VariableDecl* decl) { return draft.symbols.find(decl->name)->tensor; };
  const bool learns = std::any_of(trained.begin(), trained.end(),
                                  [&](const VariableDecl* decl) { return reached[tensor_of(decl)]; });
  for (const VariableDecl* decl : trained) {
    const TensorId variable = tensor_of(decl);
    if (reached[variable]) continue;
    const std::string stop = stop_text(graph, variable, needed);
    if (learns) {
      draft.sink.warning(decl->location,
                         fmt::format("the variable '{}' is trained, but gets no gradient from the loss: {}",
                                     decl->name, stop),
                         "set \"trainable\": false for it");
      continue;
    }
    draft.sink.warning(
        train.location,
        fmt::format("the loss '{}' gives no variable a gradient, so that training learns nothing: {}",
                    graph.tensor(train.loss).name, stop),
        "take a loss that changes smoothly with the variables, such as softmax_cross_entropy");
    return;
  }
}

void warn_untrained(ModelDraft& draft) {
  const Model& model = draft.model;
  if (!model.train) return;
  const Graph& graph = draft.builder.graph();
  PerTensor<bool> needed(graph.tensors().size(), false);
  needed[model.train->loss] = true;
  needed = with_ancestors(graph, std::move(needed));
  bool trains = false;
  std::vector<const VariableDecl*> used;
  for (const VariableDecl& decl : model.variables) {
    if (!decl.trainable) continue;
    trains = true;
    const Symbol& symbol = *draft.symbols.find(decl.name);
    if (needed[symbol.tensor]) used.push_back(&decl);
    if (symbol.used && !needed[symbol.tensor])
      draft.sink.warning(
          decl.location,
          fmt::format("the loss does not depend on the variable '{}', which is trained", decl.name),
          "set \"trainable\": false for it");
  }
  warn_without_gradient(used, needed, draft);
  if (!trains)
    draft.sink.warning(model.train->location, "the model has no variable to train",
                       "training would change nothing");
}

void read_tensors(const Cursor& root, const ModelOverrides& overrides, ModelDraft& draft) {
  if (const auto inputs = root.find("inputs"))
    for (const NamedCursor& input : inputs->members("an object {name: input}")) read_input(input, draft);
  if (const auto variables = root.find("variables"))
    for (const NamedCursor& variable : variables->members("an object {name: variable}"))
      read_variable(variable, draft);
  const std::optional<Cursor> ops = root.find("ops");
  if (ops) read_operations(*ops, draft);
  if (!ops || !ops->is(JsonKind::kArray)) draft.symbols.expect_gaps();
  if (const auto train = root.find("train"))
    draft.model.train = read_train(*train, overrides, draft);
  else if (overrides.optimizer || overrides.microbatches)
    draft.sink.error(
        {},
        fmt::format("{}: the model does not train", overrides.optimizer ? "--optimizer" : "--microbatches"),
        "it needs \"train\" with a loss and an optimizer");
  read_outputs(root, draft);
  if (!ops && draft.symbols.has_missed()) root.require("ops");
  if (const auto data = root.find("data")) read_data(*data, draft);
  check_assignments(draft);
  check_training_names(draft);
  if (draft.sink.failed()) return;
  if (const auto decode = root.find("decode")) read_decode(*decode, draft);
  if (draft.sink.failed()) return;
  warn_unused(draft);
  warn_unused_blocks(draft);
  warn_idle(root, draft);
  warn_untrained(draft);
}

// The model in the precision that the command line or the file asks for.
Model in_precision(const Cursor& root, const ModelContext& context, DiagnosticSink& sink,
                   std::vector<Diagnostic>& warnings, ModelDraft& draft) {
  Model model = std::move(draft.model);
  const std::optional<Cursor> at = root.find("precision");
  StatedPrecision stated = at ? read_precision(*at, model) : StatedPrecision{};
  sink.finish(warnings);
  std::vector<TensorPrecision>& rows = stated.precision.tensors;
  rows.insert(rows.end(), draft.precision.begin(), draft.precision.end());
  ModelForm form;
  if (context.overrides.dtype.value_or(stated.dtype) == DType::kBF16) form.precision = stated.precision;
  return with_form(std::move(model), form,
                   context.compile_options ? *context.compile_options : CompileOptions{});
}

void read_merged(const Cursor& item, ModelDraft& draft) {
  if (!item.check_keys({"merge"})) return;
  for (const Cursor& name : item.find("merge")->items("a list of dimensions")) {
    const std::optional<std::string> dim = name.string("a dimension");
    if (!dim) continue;
    if (draft.scope.dim(*dim))
      draft.model.published.merged.push_back(*dim);
    else
      name.error(fmt::format("there is no dimension '{}'", *dim),
                 did_you_mean(*dim, draft.scope.dim_names()));
  }
}

// A rule, an object that says when it holds, or dimensions that files keep as one.
void read_weights(const Cursor& weights, ModelDraft& draft) {
  for (const Cursor& item : weights.items("a list of rules FROM=TO")) {
    if (item.find("merge")) {
      read_merged(item, draft);
      continue;
    }
    const bool has_condition = item.is(JsonKind::kObject);
    if (has_condition && !item.check_keys({"map", "when"})) continue;
    const std::optional<Cursor> rule = has_condition ? item.require("map") : item;
    const bool holds = !has_condition || is_chosen(item, draft).value_or(false);
    const std::optional<std::string> text = rule ? rule->string("a rule FROM=TO") : std::nullopt;
    if (!text) continue;
    if (const std::string problem = rule_problem(*text); !problem.empty()) rule->error(problem);
    if (holds) draft.model.published.rules.push_back(*text);
  }
}

std::vector<ScopePart> scope_parts(const Cursor& root, const IncludeReader& includes) {
  std::vector<ScopePart> parts = {{root.find("params"), root.find("dims")}};
  for (const IncludedFile& file : includes.files()) {
    const Cursor included = includes.root_of(file);
    parts.push_back({included.find("params"), included.find("dims")});
  }
  return parts;
}

// The defaults that the model has names for, and then the settings of the user.
std::vector<std::string> settings(const std::vector<ScopePart>& parts,
                                  const std::vector<std::string>& defaults,
                                  const std::vector<std::string>& sets) {
  std::vector<std::string> all;
  for (const std::string& setting : defaults) {
    const std::string name = setting.substr(0, setting.find('='));
    const auto has = [&](const std::optional<Cursor>& list) {
      return list && list->is(JsonKind::kObject) && list->find(name.c_str());
    };
    if (std::any_of(parts.begin(), parts.end(),
                    [&](const ScopePart& part) { return has(part.params) || has(part.dims); }))
      all.push_back(setting);
  }
  all.insert(all.end(), sets.begin(), sets.end());
  return all;
}

bool has_names(const std::vector<ScopePart>& parts) {
  const auto is_object = [](const std::optional<Cursor>& list) {
    return !list || list->is(JsonKind::kObject);
  };
  return std::all_of(parts.begin(), parts.end(),
                     [&](const ScopePart& part) { return is_object(part.params) && is_object(part.dims); });
}

}  // namespace

Model read_model(std::string_view text, const std::string& file, const std::vector<std::string>& sets,
                 std::vector<Diagnostic>& warnings, const ModelContext& context) {
  const JsonValue json = parse_json(text, file);
  DiagnosticSink sink;
  const Cursor root(json, file, sink);
  if (is_layout(root)) {
    root.error("this is a layout, not a model", "give it with --layout");
    sink.finish(warnings);
  }
  if (is_hardware(root)) {
    root.error("this looks like a hardware profile, not a model", "give it with --hardware");
    sink.finish(warnings);
  }
  if (root.is(JsonKind::kObject) && !check_version(root, true)) sink.finish(warnings);
  if (!has_known_keys(root)) sink.finish(warnings);
  IncludeReader includes(context.include_source, sink);
  includes.read(root);
  const std::vector<ScopePart> parts = scope_parts(root, includes);
  const ModelScope scope(parts, settings(parts, context.defaults, sets), sink);
  // Without any names, all further messages would be noise.
  if (!has_names(parts) || includes.has_gaps()) sink.finish(warnings);
  ModelDraft draft(scope, sink);
  if (const auto blocks = root.find("blocks")) draft.blocks.add(*blocks, false);
  for (const IncludedFile& included : includes.files())
    if (const auto blocks = includes.root_of(included).find("blocks"))
      draft.blocks.add(*blocks, included.name.standard);
  check_texts(root, file, draft.model);
  draft.model.dims = scope.dims();
  draft.model.params = scope.params();
  if (context.overrides.dtype == DType::kF64) draft.builder.widen_floats();
  draft.keeps_settings = root.find("decode").has_value();
  read_tensors(root, context.overrides, draft);
  if (const auto weights = root.find("weights")) read_weights(*weights, draft);
  sink.finish(warnings);
  draft.model.graph = std::move(draft.builder).build();
  return in_precision(root, context, sink, warnings, draft);
}

}  // namespace mtfc
