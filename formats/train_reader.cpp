#include "formats/train_reader.h"

#include <fmt/format.h>

#include "core/optimizer.h"
#include "core/suggest.h"
#include "formats/literal.h"
#include "formats/number_reader.h"

namespace mtfc {
namespace {

TensorId read_loss(const Cursor& at, ModelDraft& draft) {
  const std::optional<std::string> name = at.string("the name of a tensor");
  if (!name) return kNoTensor;
  const Symbol* symbol = draft.symbols.use(*name, at.location());
  if (!symbol || symbol->tensor == kNoTensor) return kNoTensor;
  const TensorType& type = draft.builder.type(symbol->tensor);
  if (type.dims.empty() && is_float(type.dtype)) return symbol->tensor;
  at.error(fmt::format("the loss must be a float scalar, but '{}' is {}", *name, to_string(type)),
           "reduce_mean makes one");
  return kNoTensor;
}

const OptimizerDef* read_kind(const Cursor& at) {
  const std::optional<std::string> name = at.string("the name of an optimizer");
  if (!name) return nullptr;
  const OptimizerDef* optimizer = find_optimizer(*name);
  if (optimizer) return optimizer;
  std::vector<std::string> known;
  for (const OptimizerDef* def : all_optimizers()) known.emplace_back(def->name);
  std::string hint = did_you_mean(*name, known);
  if (hint.empty()) hint = fmt::format("known are {}", fmt::join(known, ", "));
  at.error(fmt::format("unknown optimizer '{}'", *name), hint);
  return nullptr;
}

// Settings become constants of the trained variables' types: all must be able to hold them.
DType narrowest_trained(const Model& model) {
  for (const VariableDecl& decl : model.variables)
    if (decl.trainable && decl.type.dtype == DType::kF32) return DType::kF32;
  return DType::kF64;
}

void read_settings(const Cursor& at, const OptimizerDef& optimizer, const ModelDraft& draft,
                   TrainSpec& spec) {
  const DType narrowest = narrowest_trained(draft.model);
  std::vector<std::string> keys = {"kind", "doc"};
  for (const NumberSetting& setting : optimizer.settings) keys.emplace_back(setting.name);
  at.check_keys(keys, {"no_decay", "shard_state_over", "clip_norm"});
  for (const NumberSetting& setting : optimizer.settings) {
    const std::string name(setting.name);
    const std::optional<Cursor> cursor = at.find(name);
    if (!cursor && !setting.fallback)
      at.error(fmt::format("'{}' needs '{}'", optimizer.name, name), std::string(setting.doc));
    if (!cursor && setting.fallback) spec.numbers[name] = *setting.fallback;
    if (!cursor) continue;
    if (name == "lr" && cursor->is(JsonKind::kObject)) {
      cursor->error(unsupported_message("a schedule of 'lr'"));
    } else if (const auto value = read_real(*cursor, draft.scope.lookup())) {
      const auto problem = literal_problem(*value, narrowest);
      if (problem) cursor->error(problem->message, problem->hint);
      spec.numbers[name] = *value;
    }
  }
}

}  // namespace

std::optional<TrainSpec> read_train(const Cursor& at, ModelDraft& draft) {
  const size_t before = at.sink().error_count();
  if (!at.check_keys({"loss", "optimizer", "doc"},
                     {"clip_norm", "microbatches", "no_decay", "shard_state_over"}))
    return std::nullopt;
  TrainSpec spec;
  spec.location = at.location();
  if (const auto loss = at.require("loss")) spec.loss = read_loss(*loss, draft);
  if (const auto optimizer = at.require("optimizer")) {
    if (!optimizer->is(JsonKind::kObject)) {
      optimizer->expected("an object");
    } else if (const auto kind = optimizer->require("kind")) {
      if (const OptimizerDef* def = read_kind(*kind)) {
        spec.optimizer = std::string(def->name);
        read_settings(*optimizer, *def, draft, spec);
      }
    }
  }
  if (at.sink().error_count() > before || spec.loss == kNoTensor) return std::nullopt;
  return spec;
}

}  // namespace mtfc
