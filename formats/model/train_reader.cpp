#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/suggest.h"
#include "core/model/optimizer.h"
#include "formats/expression/number_reader.h"
#include "formats/model/literal.h"
#include "formats/model/model_reader.h"
#include "formats/model/operation_reader.h"
#include "formats/model/part_readers.h"
#include "formats/reference/foreign_names.h"

namespace mtfc {
namespace {

TensorId read_loss(const Cursor& at, ModelDraft& draft) {
  const std::optional<std::string> name = at.string("the name of a tensor");
  if (!name) return kNoTensor;
  const Symbol* symbol = draft.symbols.use(*name, at.location());
  if (!symbol || symbol->tensor == kNoTensor) return kNoTensor;
  const TensorType& type = draft.builder.type(symbol->tensor);
  if (is_float_scalar(type)) return symbol->tensor;
  at.error(fmt::format("the loss must be a float scalar, but '{}' is {}", *name, to_string(type)),
           scalar_hint(type));
  return kNoTensor;
}

const OptimizerDef* read_optimizer_kind(const Cursor& at) {
  const std::optional<std::string> name = at.string("the name of an optimizer");
  if (!name) return nullptr;
  const OptimizerDef* optimizer = find_optimizer(*name);
  if (optimizer) return optimizer;
  const std::vector<std::string> known = all_names(all_optimizers());
  std::string hint = foreign_hint(ForeignKind::kOptimizer, *name);
  if (hint.empty()) hint = did_you_mean(*name, known);
  if (hint.empty()) hint = fmt::format("known are {}", fmt::join(known, ", "));
  at.error(fmt::format("unknown optimizer '{}'", *name), hint);
  return nullptr;
}

// Settings become constants of the trained variables' types: each of these must be able to hold them.
DType narrowest_trained(const Model& model) {
  for (const VariableDecl& decl : model.variables)
    if (decl.trainable && decl.type.dtype == DType::kF32) return DType::kF32;
  return DType::kF64;
}

struct NamedRange {
  SettingRange range;
  bool (*holds)(double value);
  const char* name;
};
constexpr NamedRange kRanges[] = {
    {SettingRange::kPositive, [](double value) { return value > 0; }, "above 0"},
    {SettingRange::kNotNegative, [](double value) { return value >= 0; }, "of at least 0"},
    {SettingRange::kBelowOne, [](double value) { return value >= 0 && value < 1; },
     "of at least 0 and below 1"},
    {SettingRange::kUpToOne, [](double value) { return value >= 0 && value <= 1; }, "from 0 to 1"}};

void check_range(const Cursor& at, SettingRange range, double value) {
  for (const auto& [known, holds, name] : kRanges)
    if (known == range && !holds(value)) at.error(fmt::format("expected a number {}, found {}", name, value));
}

std::optional<double> read_setting(const Cursor& at, SettingRange range, const ModelDraft& draft) {
  const std::optional<double> value = read_real(at, draft.scope.lookup());
  if (!value) return std::nullopt;
  if (const auto problem = literal_problem(*value, narrowest_trained(draft.model)))
    at.error(problem->what(), problem->hint);
  else
    check_range(at, range, *value);
  return value;
}

void read_settings(const Cursor& at, const OptimizerDef& optimizer, const ModelDraft& draft,
                   TrainSpec& spec) {
  std::vector<std::string> keys = {"kind", "doc"};
  for (const NumberSetting& setting : optimizer.settings) keys.emplace_back(setting.name);
  keys.insert(keys.end(), {"no_decay", "lr_factors", "shard_state_over", "when"});
  if (optimizer.factors) keys.emplace_back("factored");
  at.check_keys(keys);
  for (const NumberSetting& setting : optimizer.settings) {
    const std::string name(setting.name);
    const std::optional<Cursor> cursor = at.find(name);
    if (!cursor && !setting.fallback)
      at.error(fmt::format("'{}' needs '{}'", optimizer.name, name), std::string(setting.doc));
    if (!cursor && setting.fallback) spec.numbers[name] = *setting.fallback;
    if (!cursor) continue;
    if (name == "lr") {
      const auto rate = read_learning_rate(*cursor, draft.scope.lookup(), narrowest_trained(draft.model));
      if (!rate) continue;
      spec.numbers[name] = rate->constant;
      spec.schedules = rate->schedules;
    } else if (const auto value = read_setting(*cursor, setting.range, draft)) {
      spec.numbers[name] = *value;
    }
  }
}

// `*` matches any characters, including `/`. The match of the last `*` grows until the rest fits.
bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, after_star = std::string_view::npos, covered = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      covered = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      n = ++covered;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// The variables that match a pattern; one that matches none is most likely a mistake.
std::vector<const VariableDecl*> matched(const std::string& pattern, const Location& location,
                                         const ModelDraft& draft) {
  std::vector<std::string> names;
  std::vector<const VariableDecl*> found;
  for (const VariableDecl& decl : draft.model.variables) {
    if (!decl.trainable) continue;
    names.push_back(decl.name);
    if (matches(pattern, decl.name)) found.push_back(&decl);
  }
  if (found.empty())
    draft.sink.warning(location, fmt::format("'{}' matches no variable that is trained", pattern),
                       did_you_mean(pattern, names));
  return found;
}

void read_no_decay(const Cursor& at, const ModelDraft& draft, TrainSpec& spec) {
  for (const Cursor& item : at.items("a list of patterns of variables")) {
    const std::optional<std::string> pattern = item.string("a pattern of variables");
    if (!pattern) continue;
    for (const VariableDecl* decl : matched(*pattern, item.location(), draft))
      spec.no_decay.insert(decl->name);
  }
}

// The last pattern that matches a variable decides.
void read_lr_factors(const Cursor& at, const ModelDraft& draft, TrainSpec& spec) {
  for (const NamedCursor& member : at.members("an object of patterns of variables")) {
    const std::vector<const VariableDecl*> variables = matched(member.key, member.key_location, draft);
    const auto rate = read_learning_rate(member.value, draft.scope.lookup(), narrowest_trained(draft.model));
    if (!rate) continue;
    for (const VariableDecl* decl : variables) spec.lr_factors[decl->name] = *rate;
  }
}

std::optional<FactoredDims> named_dims(const Dims& dims, const std::vector<std::string>& names) {
  const int first = position(dims, names[0]), second = position(dims, names[1]);
  if (first < 0 || second < 0) return std::nullopt;
  return FactoredDims{dims[static_cast<size_t>(std::min(first, second))],
                      dims[static_cast<size_t>(std::max(first, second))]};
}

// Replaces the default of the variables that match patterns: {PATTERN: [DIM, DIM]}, or [] for none. Variables that lack
// one of the dimensions keep theirs.
void read_factored(const Cursor& at, const ModelDraft& draft, TrainSpec& spec) {
  for (const NamedCursor& member : at.members("an object of patterns of variables")) {
    std::vector<std::string> names;
    for (const Cursor& item : member.value.items("a list of two dimensions, or of none"))
      if (const auto name = item.string("the name of a dimension")) names.push_back(*name);
    if (!names.empty() && (names.size() != 2 || names[0] == names[1])) {
      member.value.error("expected two different dimensions, or none");
      continue;
    }
    const std::vector<const VariableDecl*> variables = matched(member.key, member.key_location, draft);
    bool found = variables.empty() || names.empty();
    for (const VariableDecl* decl : variables) {
      const auto dims = names.empty() ? std::nullopt : named_dims(decl->type.dims, names);
      if (dims) spec.factored.insert_or_assign(decl->name, *dims);
      if (names.empty()) spec.factored.erase(decl->name);
      found |= dims.has_value();
    }
    if (!found)
      member.value.error(fmt::format("no variable that matches '{}' has the dimensions '{}' and '{}'",
                                     member.key, names[0], names[1]),
                         fmt::format("'{}' is {}", variables[0]->name, to_string(variables[0]->type)));
  }
}

// The dimensions over which adafactor keeps means.
void read_all_factored(const Cursor& optimizer, const ModelDraft& draft, TrainSpec& spec) {
  if (!find_optimizer(spec.optimizer)->factors) return;
  std::vector<std::string> trained;
  for (const VariableDecl& decl : draft.model.variables)
    if (decl.trainable) trained.push_back(decl.name);
  spec.factored = default_factored_dims(draft.builder.graph(), trained, spec.numbers.at("least_factored"));
  if (const auto at = optimizer.find("factored")) read_factored(*at, draft, spec);
}

void read_axes(const Cursor& at, TrainSpec& spec) {
  spec.shard_location = at.location();
  for (const Cursor& item : at.items("a list of axes of the mesh")) {
    const std::optional<std::string> axis = item.string("an axis of the mesh");
    if (!axis) continue;
    if (std::find(spec.shard_state_over.begin(), spec.shard_state_over.end(), *axis) !=
        spec.shard_state_over.end())
      item.error(fmt::format("axis '{}' appears twice", *axis));
    spec.shard_state_over.push_back(*axis);
  }
}

// Finds a key that may appear in `train` or in the optimizer, but not in both.
std::optional<Cursor> find_once(const Cursor& train, const Cursor& optimizer, std::string_view key) {
  const std::optional<Cursor> outside = train.find(key), inside = optimizer.find(key);
  if (outside && inside)
    inside->error(fmt::format("'{}' is also in \"train\"", key), "leave one of them out");
  return inside ? inside : outside;
}

void read_optimizer(const Cursor& train, const Cursor& at, ModelDraft& draft, TrainSpec& spec) {
  const std::optional<Cursor> kind = at.require("kind");
  const OptimizerDef* optimizer = kind ? read_optimizer_kind(*kind) : nullptr;
  if (!optimizer) return;
  spec.optimizer = std::string(optimizer->name);
  read_settings(at, *optimizer, draft, spec);
  if (const auto axes = find_once(train, at, "shard_state_over")) read_axes(*axes, spec);
  if (const auto factors = find_once(train, at, "lr_factors")) read_lr_factors(*factors, draft, spec);
  const std::optional<Cursor> no_decay = find_once(train, at, "no_decay");
  if (!no_decay) return;
  read_no_decay(*no_decay, draft, spec);
  if (!optimizer->decays_weights)
    at.sink().warning(
        no_decay->location(),
        fmt::format("'{}' has no weight decay from which to exempt variables", optimizer->name));
}

// The optimizer, or the one of several that `when` chooses.
std::optional<Cursor> chosen_optimizer(const Cursor& at, const ModelDraft& draft) {
  const std::vector<Cursor> stated = at.is(JsonKind::kArray) ? at.items() : std::vector<Cursor>{at};
  const size_t before = at.sink().error_count();
  std::optional<Cursor> found;
  for (const Cursor& item : stated) {
    if (!item.is(JsonKind::kObject)) {
      item.expected("an object");
    } else if (is_chosen(item, draft).value_or(false)) {
      if (found)
        item.error("another optimizer exists at the same time",
                   "give them \"when\" conditions that exclude each other");
      found = item;
    }
  }
  if (!found && at.sink().error_count() == before)
    at.error("there is no optimizer whose \"when\" holds", "give one of them no condition, or another one");
  return at.sink().error_count() == before ? found : std::nullopt;
}

void read_microbatches(const Cursor& train, const std::optional<int64_t>& given, const ModelDraft& draft,
                       TrainSpec& spec) {
  spec.microbatches_location = train.location();
  if (const std::optional<Cursor> at = train.find("microbatches")) {
    spec.microbatches_location = at->location();
    spec.microbatches = read_integer(*at, draft.scope.lookup()).value_or(1);
    if (spec.microbatches < 1)
      at->error(fmt::format("'microbatches' must be at least 1, but is {}", spec.microbatches));
  }
  if (given) spec.microbatches = *given;
}

// Switches to another kind with its own settings, which differ in meaning even under the same names.
void replace_kind(const std::string& kind, TrainSpec& spec) {
  if (kind == spec.optimizer) return;
  const OptimizerDef& optimizer = *find_optimizer(kind);
  Settings numbers;
  for (const NumberSetting& setting : optimizer.settings)
    if (setting.fallback) numbers[std::string(setting.name)] = *setting.fallback;
  if (const auto rate = spec.numbers.find("lr"); rate != spec.numbers.end()) numbers.insert(*rate);
  spec.optimizer = kind;
  spec.numbers = std::move(numbers);
}

}  // namespace

std::optional<TrainSpec> read_train(const Cursor& at, const ModelOverrides& overrides, ModelDraft& draft) {
  const size_t before = at.sink().error_count();
  if (!at.check_keys({"loss", "optimizer", "clip_norm", "microbatches", "no_decay", "lr_factors",
                      "shard_state_over", "doc"}))
    return std::nullopt;
  TrainSpec spec;
  spec.location = at.location();
  if (const auto loss = at.require("loss")) spec.loss = read_loss(*loss, draft);
  const std::optional<Cursor> stated = at.require("optimizer");
  const std::optional<Cursor> optimizer = stated ? chosen_optimizer(*stated, draft) : std::nullopt;
  if (optimizer) read_optimizer(at, *optimizer, draft, spec);
  if (const auto norm = at.find("clip_norm"))
    spec.clip_norm = read_setting(*norm, SettingRange::kPositive, draft);
  read_microbatches(at, overrides.microbatches, draft, spec);
  if (at.sink().error_count() > before || spec.loss == kNoTensor) return std::nullopt;
  if (overrides.optimizer) replace_kind(*overrides.optimizer, spec);
  read_all_factored(*optimizer, draft, spec);
  if (at.sink().error_count() > before) return std::nullopt;
  return spec;
}

}  // namespace mtfc
