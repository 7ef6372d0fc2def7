#include "formats/model/train_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/suggest.h"
#include "core/model/optimizer.h"
#include "formats/expression/number_reader.h"
#include "formats/model/literal.h"
#include "formats/model/model_reader.h"
#include "formats/model/operation_reader.h"
#include "formats/model/schedule_reader.h"
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
  std::vector<std::string> known;
  for (const OptimizerDef* def : all_optimizers()) known.emplace_back(def->name);
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

void check_range(const Cursor& at, SettingRange range, double value) {
  const auto expected = [&](std::string_view what) {
    at.error(fmt::format("expected a number {}, found {}", what, value));
  };
  switch (range) {
    case SettingRange::kAny:
      return;
    case SettingRange::kPositive:
      if (!(value > 0)) expected("above 0");
      return;
    case SettingRange::kNotNegative:
      if (!(value >= 0)) expected("of at least 0");
      return;
    case SettingRange::kBelowOne:
      if (!(value >= 0 && value < 1)) expected("of at least 0 and below 1");
      return;
    case SettingRange::kUpToOne:
      if (!(value >= 0 && value <= 1)) expected("from 0 to 1");
      return;
  }
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
  keys.insert(keys.end(), {"no_decay", "shard_state_over"});
  at.check_keys(keys);
  for (const NumberSetting& setting : optimizer.settings) {
    const std::string name(setting.name);
    const std::optional<Cursor> cursor = at.find(name);
    if (!cursor && !setting.fallback)
      at.error(fmt::format("'{}' needs '{}'", optimizer.name, name), std::string(setting.doc));
    if (!cursor && setting.fallback) spec.numbers[name] = *setting.fallback;
    if (!cursor) continue;
    if (name == "lr" && cursor->is(JsonKind::kObject))
      spec.schedule = read_schedule(*cursor, draft.scope.lookup(), narrowest_trained(draft.model));
    else if (const auto value = read_setting(*cursor, setting.range, draft))
      spec.numbers[name] = *value;
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

// Variables by patterns; a pattern that matches none is most likely a mistake.
void read_no_decay(const Cursor& at, const ModelDraft& draft, TrainSpec& spec) {
  for (const Cursor& item : at.items("a list of patterns of variables")) {
    const std::optional<std::string> pattern = item.string("a pattern of variables");
    if (!pattern) continue;
    std::vector<std::string> names;
    bool found = false;
    for (const VariableDecl& decl : draft.model.variables) {
      if (!decl.trainable) continue;
      names.push_back(decl.name);
      if (!matches(*pattern, decl.name)) continue;
      found = true;
      spec.no_decay.insert(decl.name);
    }
    if (!found)
      at.sink().warning(item.location(), fmt::format("'{}' matches no variable that is trained", *pattern),
                        did_you_mean(*pattern, names));
  }
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
  const std::optional<Cursor> no_decay = find_once(train, at, "no_decay");
  if (!no_decay) return;
  read_no_decay(*no_decay, draft, spec);
  if (!optimizer->decays_weights)
    at.sink().warning(
        no_decay->location(),
        fmt::format("'{}' has no weight decay from which to exempt variables", optimizer->name));
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
  if (!at.check_keys(
          {"loss", "optimizer", "clip_norm", "microbatches", "no_decay", "shard_state_over", "doc"}))
    return std::nullopt;
  TrainSpec spec;
  spec.location = at.location();
  if (const auto loss = at.require("loss")) spec.loss = read_loss(*loss, draft);
  if (const auto optimizer = at.require("optimizer")) {
    if (optimizer->is(JsonKind::kObject))
      read_optimizer(at, *optimizer, draft, spec);
    else
      optimizer->expected("an object");
  }
  if (const auto norm = at.find("clip_norm"))
    spec.clip_norm = read_setting(*norm, SettingRange::kPositive, draft);
  read_microbatches(at, overrides.microbatches, draft, spec);
  if (at.sink().error_count() > before || spec.loss == kNoTensor) return std::nullopt;
  if (overrides.optimizer) replace_kind(*overrides.optimizer, spec);
  return spec;
}

}  // namespace mtfc
