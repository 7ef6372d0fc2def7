#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/diagnostics/suggest.h"
#include "formats/model/operation_reader.h"
#include "formats/model/part_readers.h"
#include "formats/model/type_reader.h"

namespace mtfc {
namespace {

// Defines the model's variables under their names, so that the step can read them.
void share_variables(const ModelDraft& of, ModelDraft& draft) {
  draft.shared = &of.model.variables;
  draft.model_graph = &of.builder.graph();
  for (const VariableDecl& decl : of.model.variables) {
    draft.shared_by_name.emplace(decl.name, &decl);
    draft.symbols.define(decl.name, SymbolKind::kVariable, decl.location);
    draft.builder.set_origin({decl.name, decl.location, Phase::kForward});
    const TensorId tensor = draft.builder.add_variable(decl.name, decl.type);
    draft.builder.mark_from_model(tensor);
    draft.symbols.bind(decl.name, tensor);
  }
}

// The error for an input of this name and type, or "".
std::string input_problem(std::string_view name, const TensorType& type) {
  if (name == kSeenInput) {
    if (type.dtype != DType::kBool || type.dims.empty())
      return "must be bool, of the token's dimensions and one more, the places of the caches";
    return "";
  }
  if (!is_integer(type.dtype)) return "must be an integer";
  if (name == kPositionInput && !type.dims.empty()) return "must be a scalar that all sequences share";
  if (type.dims.size() > 2) return "can have two dimensions, sequences and beams";
  return "";
}

void read_decode_input(const NamedCursor& input, ModelDraft& draft) {
  const std::vector<std::string> known = {std::string(kTokenInput), std::string(kPositionInput),
                                          std::string(kSeenInput)};
  if (std::find(known.begin(), known.end(), input.key) == known.end())
    return draft.sink.error(input.key_location, fmt::format("decode has no input '{}'", input.key),
                            keys_hint(input.key, known));
  if (is_chosen(input.value, draft) == false) return draft.symbols.note_removed(input.key);
  const bool is_new = draft.symbols.define(input.key, SymbolKind::kInput, input.key_location);
  if (!input.value.check_keys({"dims", "dtype", "sharding", "doc", "when"})) return;
  const std::optional<TensorType> type = read_tensor_type(input.value, draft.scope);
  if (!type || !is_new) return;
  if (const std::string problem = input_problem(input.key, *type); !problem.empty())
    return input.value.error(
        fmt::format("the input '{}' of decode {}, but it is {}", input.key, problem, to_string(*type)));
  add_input(input, *type, draft);
}

const TensorType* input_type(const ModelDraft& draft, std::string_view name) {
  const InputDecl* input = find_named(draft.model.inputs, name);
  return input ? &input->type : nullptr;
}

// Returns whether `type` has the token's dimensions, then one more.
bool follows_token(const TensorType& type, const TensorType& token) {
  return type.dims.size() == token.dims.size() + 1 &&
         std::equal(token.dims.begin(), token.dims.end(), type.dims.begin());
}

// The same, with the dimensions in any order.
bool extends_token(const TensorType& type, const TensorType& token) {
  return type.dims.size() == token.dims.size() + 1 &&
         std::all_of(token.dims.begin(), token.dims.end(),
                     [&](const Dim& dim) { return contains(type.dims, dim.name); });
}

void check_seen(const Cursor& inputs, const ModelDraft& draft) {
  const TensorType* token = input_type(draft, kTokenInput);
  const TensorType* seen = input_type(draft, kSeenInput);
  if (token && seen && !follows_token(*seen, *token))
    inputs.find(kSeenInput)
        ->error(fmt::format(
            "the input 'seen' must have the token's dimensions [{}] and then one more, the places of "
            "the caches, but it is {}",
            to_string(token->dims), to_string(*seen)));
  if (token && !seen && token->dims.size() == 2)
    inputs.find(kTokenInput)
        ->error(fmt::format("the token {} has beams, along '{}', but there is no input 'seen'",
                            to_string(*token), token->dims[1].name),
                "beams must know which places of the caches are theirs");
}

TensorId read_logits(const Cursor& outputs, ModelDraft& draft) {
  if (!outputs.check_keys({"logits"})) return kNoTensor;
  const std::optional<Cursor> logits = outputs.require("logits");
  const std::optional<std::string> name = logits ? logits->string("the name of a tensor") : std::nullopt;
  const Symbol* symbol = name ? draft.symbols.use(*name, logits->location()) : nullptr;
  if (!symbol || symbol->tensor == kNoTensor) return kNoTensor;
  const TensorType& type = draft.builder.type(symbol->tensor);
  const TensorType* token = input_type(draft, kTokenInput);
  if (token && (!is_float(type.dtype) || !extends_token(type, *token)))
    logits->error(
        fmt::format("the logits must be floats with the token's dimensions [{}] and one more, the "
                    "vocabulary, but '{}' is {}",
                    to_string(token->dims), *name, to_string(type)));
  return symbol->tensor;
}

void check_state(const ModelDraft& draft) {
  const std::vector<VariableDecl>& caches = draft.model.variables;
  for (const Assignment& assignment : draft.model.assignments)
    if (draft.shared_by_name.contains(assignment.variable))
      draft.sink.error(assignment.location,
                       fmt::format("decode can't change '{}', a variable of the model", assignment.variable),
                       "it may assign caches");
  const auto holds_tensor = [&](const VariableDecl& cache) {
    return std::any_of(draft.held.begin(), draft.held.end(),
                       [&](const HeldTensor& held) { return held.cache == cache.name; });
  };
  for (const VariableDecl& cache : caches)
    if (!draft.assigned.contains(cache.name) && !holds_tensor(cache))
      draft.sink.warning(cache.location,
                         fmt::format("nothing assigns the cache '{}': it stays zero", cache.name));
}

void warn_unused_inputs(const ModelDraft& draft) {
  for (const InputDecl& input : draft.model.inputs)
    if (const Symbol* symbol = draft.symbols.find(input.name); symbol && !symbol->used)
      draft.sink.warning(input.location, fmt::format("the input '{}' of decode is not used", input.name));
}

// A variable that only decode reads is in use, too.
void pass_on_uses(const ModelDraft& from, ModelDraft& to) {
  for (const VariableDecl& decl : to.model.variables)
    if (const Symbol* symbol = from.symbols.find(decl.name); symbol && symbol->used)
      to.symbols.use(decl.name, decl.location);
}

void read_parts(const Cursor& at, ModelDraft& draft) {
  if (const auto inputs = at.require("inputs")) {
    for (const NamedCursor& input : inputs->members("an object {name: input}"))
      read_decode_input(input, draft);
    for (const std::string_view name : {kTokenInput, kPositionInput}) inputs->require(name);
    check_seen(*inputs, draft);
  }
  if (const auto variables = at.find("variables"))
    for (const NamedCursor& cache : variables->members("an object {name: variable}"))
      read_cache(cache, draft);
  const auto ops = at.require("ops");
  if (ops) read_operations(*ops, draft);
  if (!ops || !ops->is(JsonKind::kArray)) draft.symbols.expect_gaps();
}

}  // namespace

void read_decode(const Cursor& at, ModelDraft& draft) {
  if (!at.check_keys({"doc", "inputs", "variables", "ops", "outputs", "equal_if"})) return;
  BlockNames names;
  names.bound.emplace(kDecoding, int64_t{1});
  const ModelScope scope(draft.scope, names, draft.sink);
  ModelDraft own(scope, draft.sink);
  if (draft.builder.widened(DType::kF32) == DType::kF64) own.builder.widen_floats();
  own.model_settings = &draft.settings;
  share_variables(draft, own);
  std::swap(own.blocks, draft.blocks);
  read_parts(at, own);
  DecodeSpec spec;
  if (const auto outputs = at.require("outputs")) spec.logits = read_logits(*outputs, own);
  std::swap(own.blocks, draft.blocks);
  spec.equals_model = is_chosen(at, own, "equal_if").value_or(true);
  if (!spec.equals_model) spec.equal_if = at.find("equal_if")->value().text;
  check_state(own);
  if (draft.sink.failed()) return;
  warn_unused_inputs(own);
  pass_on_uses(own, draft);
  spec.inputs = std::move(own.model.inputs);
  spec.caches = std::move(own.model.variables);
  spec.assignments = std::move(own.model.assignments);
  spec.held = std::move(own.held);
  spec.prompt = std::move(own.prompt);
  spec.prompt_problem = std::move(own.prompt_problem);
  spec.annotations = std::move(own.model.annotations);
  spec.graph = std::move(own.builder).build();
  draft.model.decode = std::move(spec);
}

}  // namespace mtfc
