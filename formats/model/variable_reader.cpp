#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/diagnostics/suggest.h"
#include "formats/data/safetensors.h"
#include "formats/model/part_readers.h"
#include "formats/model/type_reader.h"

namespace mtfc {
namespace {

// Only floats have gradients: other variables are not trained, and asking for it is an error.
bool read_trainable(const Cursor& at, DType dtype) {
  const std::optional<Cursor> trainable = at.find("trainable");
  if (!trainable) return is_float(dtype);
  const bool wanted = trainable->flag().value_or(false);
  if (wanted && !is_float(dtype))
    trainable->error(fmt::format("a variable of type {} can't be trained", to_string(dtype)));
  return wanted;
}

std::string read_group(const Cursor& at) {
  const std::optional<Cursor> group = at.find("group");
  if (!group) return "";
  const std::optional<std::string> name = group->string("the name of a group");
  if (name && name->empty()) group->error("the name of a group is empty", "leave out \"group\"");
  return name.value_or("");
}

// The leaf of a variable of the model has existed since `decode` began.
void share_variable(const NamedCursor& variable, ModelDraft& draft) {
  const std::string name = draft.symbols.full_variable(variable.key);
  const auto shared = draft.shared_by_name.find(name);
  if (shared == draft.shared_by_name.end()) {
    std::string hint = did_you_mean(name, all_names(*draft.shared));
    if (hint.empty())
      hint = "decode shares the model's variables by name; \"cache\": true makes one of its own";
    draft.symbols.define(variable.key, SymbolKind::kVariable, variable.key_location);
    return draft.sink.error(variable.key_location, fmt::format("the model has no variable '{}'", name), hint);
  }
  std::optional<TensorType> type = read_tensor_type(variable.value, draft.names());
  if (!type) return;
  type->dtype = draft.builder.widened(type->dtype);
  if (*type != shared->second->type)
    draft.sink.error(variable.key_location,
                     fmt::format("'{}' is {} here, and {} in the model", name, to_string(*type),
                                 to_string(shared->second->type)),
                     "decode shares the variable with the model");
}

// Refuses keys that caches may not have.
void check_cache(const Cursor& at, const ModelDraft& draft) {
  const char* key = at.find("holds") ? "holds" : "cache";
  if (!draft.shared)
    at.find(key)->error("a cache belongs to \"decode\", but this is a variable of the model itself",
                        fmt::format("leave out \"{}\", or call the block in \"decode\"", key));
  if (const auto init = at.find("init"))
    init->error(at.find("holds") ? "a cache that holds a tensor of the model has no \"init\""
                                 : "a cache has no \"init\": it is zero before the first token");
  if (const auto trainable = at.find("trainable"))
    trainable->error("a cache is never trained: leave out \"trainable\"");
}

// The full name of a tensor in the scope of the block that is being read, or after each "../" in the scope around it.
std::string name_from_here(std::string_view name, const ModelDraft& draft) {
  std::string scope = draft.symbols.full("");
  while (name.starts_with("../") && !scope.empty()) {
    name.remove_prefix(3);
    scope.pop_back();
    scope.resize(scope.rfind('/') == std::string::npos ? 0 : scope.rfind('/') + 1);
  }
  return scope + std::string(name);
}

// The tensor of the model that fills the cache for the positions of a prompt. A missing tensor is no error, but makes
// the model read prompts token by token: a shared block for decode may be combined with blocks that do not provide it.
void read_prompt(const Cursor& at, const VariableDecl& cache, ModelDraft& draft) {
  const std::optional<std::string> path = at.string("the name of a tensor of the model");
  if (!path) return;
  const std::string name = name_from_here(*path, draft);
  const TensorId tensor = draft.model_graph->find(name);
  const auto refuse = [&](std::string why) {
    if (draft.prompt_problem.empty()) draft.prompt_problem = std::move(why);
  };
  if (tensor == kNoTensor)
    return refuse(fmt::format("it has no tensor '{}', which is to fill its cache '{}'", name, cache.name));
  const TensorType& type = draft.model_graph->type(tensor);
  const Dims places = without(cache.type.dims, type.dims), positions = without(type.dims, cache.type.dims);
  if (type.dtype != cache.type.dtype || type.dims.size() != cache.type.dims.size() || places.size() != 1)
    return refuse(fmt::format("'{}' is {}, which can't fill its cache '{}' of {}", name, to_string(type),
                              cache.name, to_string(cache.type)));
  draft.prompt.push_back({cache.name, tensor, places[0].name, positions[0].name, at.location()});
}

// The tensor of the model, in the scope of the block that is being read, whose value the cache has from the start.
void read_holds(const Cursor& at, const VariableDecl& cache, ModelDraft& draft) {
  const std::optional<std::string> leaf = at.string("the name of a tensor of the model");
  if (!leaf) return;
  const std::string name = name_from_here(*leaf, draft);
  const TensorId tensor = draft.model_graph->find(name);
  if (tensor == kNoTensor) {
    std::vector<std::string> names;
    for (const Tensor& known : draft.model_graph->tensors())
      if (known.from_model) names.push_back(known.name);
    return at.error(fmt::format("the model has no tensor '{}'", name), did_you_mean(name, names));
  }
  const TensorType& type = draft.model_graph->type(tensor);
  const bool same_dims = type.dims.size() == cache.type.dims.size() &&
                         std::is_permutation(type.dims.begin(), type.dims.end(), cache.type.dims.begin());
  if (type.dtype != cache.type.dtype || !same_dims)
    return at.error(fmt::format("the cache '{}' is {}, but '{}' is {}", cache.name, to_string(cache.type),
                                name, to_string(type)),
                    "a cache has the type and the dimensions, in any order, of the tensor that it holds");
  draft.held.push_back({cache.name, tensor, at.location()});
}

void define_variable(const NamedCursor& variable, bool is_cache, ModelDraft& draft) {
  const Cursor& at = variable.value;
  const bool is_new = draft.symbols.define(variable.key, SymbolKind::kVariable, variable.key_location);
  std::optional<TensorType> type = read_tensor_type(at, draft.names());
  if (!type) return;
  type->dtype = draft.builder.widened(type->dtype);
  VariableDecl decl;
  decl.name = draft.symbols.full_variable(variable.key);
  if (const std::string problem = name_problem(decl.name); !problem.empty())
    draft.sink.error(variable.key_location, problem, "choose another name");
  decl.type = *type;
  decl.location = variable.key_location;
  if (const auto init = at.find("init"); init && !is_cache)
    decl.init = read_init(*init, *type, draft.names());
  decl.trainable = !is_cache && read_trainable(at, type->dtype);
  decl.group = read_group(at);
  if (!is_new) return;
  GraphBuilder& builder = draft.outermost();
  builder.set_origin({decl.name, at.location(), Phase::kForward});
  const TensorId tensor = builder.add_variable(decl.name, *type);
  builder.mark_from_model(tensor);
  draft.symbols.bind(variable.key, tensor);
  read_sharding(at, {decl.name}, {type->dims}, draft);
  if (const auto holds = at.find("holds"); holds && draft.shared) read_holds(*holds, decl, draft);
  if (const auto prompt = at.find("prompt"); prompt && draft.shared) read_prompt(*prompt, decl, draft);
  draft.model.variables.push_back(std::move(decl));
}

// `chosen`: what is_chosen() says of the declaration.
void read(const NamedCursor& variable, std::optional<bool> chosen, bool is_cache, ModelDraft& draft) {
  const Cursor& at = variable.value;
  if (chosen == false) return draft.symbols.note_removed(variable.key);
  if (draft.later_rounds > 0) return;
  const bool has_form = at.check_keys(
      {"dims", "dtype", "init", "trainable", "cache", "holds", "prompt", "group", "when", "sharding", "doc"});
  if (!has_form) {
    draft.symbols.define(variable.key, SymbolKind::kVariable, variable.key_location);
    return;
  }
  if (const auto cache = at.find("cache")) is_cache |= cache->flag().value_or(false);
  is_cache |= at.find("holds").has_value();
  if (is_cache) check_cache(at, draft);
  if (const auto prompt = at.find("prompt"); prompt && (!is_cache || at.find("holds")))
    prompt->error("only a cache that decode writes can have \"prompt\"", "leave it out");
  if (draft.shared && !is_cache) return share_variable(variable, draft);
  define_variable(variable, is_cache, draft);
}

// Reads a list of declarations of one name, of which `when` chooses one.
void read_alternatives(const NamedCursor& variable, bool is_cache, ModelDraft& draft) {
  const std::vector<Cursor> declarations = variable.value.items();
  if (declarations.empty()) variable.value.error("the list has no declaration of the variable");
  std::optional<Location> before;
  const size_t mistakes = draft.sink.error_count();
  for (const Cursor& declaration : declarations) {
    if (draft.sink.error_count() > mistakes) return;
    const std::optional<bool> chosen = is_chosen(declaration, draft);
    if (before && chosen == true) {
      declaration.error(fmt::format("'{}' is declared twice: this declaration and the one in {} both exist",
                                    variable.key, line_text(*before, declaration.location())),
                        "give them \"when\" conditions that exclude each other");
      return;
    }
    read({variable.key, variable.key_location, declaration}, chosen, is_cache, draft);
    if (chosen == true) before = declaration.location();
  }
}

void read_declarations(const NamedCursor& variable, bool is_cache, ModelDraft& draft) {
  if (variable.value.is(JsonKind::kArray))
    read_alternatives(variable, is_cache, draft);
  else
    read(variable, is_chosen(variable.value, draft), is_cache, draft);
}

}  // namespace

void read_variable(const NamedCursor& variable, ModelDraft& draft) {
  read_declarations(variable, false, draft);
}

void read_cache(const NamedCursor& variable, ModelDraft& draft) {
  read_declarations(variable, true, draft);
}

void add_input(const NamedCursor& input, const TensorType& type, ModelDraft& draft) {
  draft.builder.set_origin({input.key, input.value.location(), Phase::kForward});
  const TensorId tensor = draft.builder.add_input(input.key, type);
  draft.builder.mark_from_model(tensor);
  draft.symbols.bind(input.key, tensor);
  draft.model.inputs.push_back({input.key, type, "", input.key_location});
  read_sharding(input.value, {input.key}, {type.dims}, draft);
}

}  // namespace mtfc
