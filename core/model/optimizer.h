#pragma once
// Optimizers: how a variable's new value follows from its gradient. One constant per file of
// core/optimizers/.
//
// What all updates of a step share (a rate that depends on the number of the step) is computed once, as
// scalars in f64; an update gets these in the type of its variable. Example: adam's bias corrections are two
// such scalars.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace mtfc {

/// What numbers a setting may have.
enum class SettingRange { kAny, kPositive, kNotNegative, kBelowOne /* [0, 1) */, kUpToOne /* [0, 1] */ };

struct NumberSetting {
  std::string_view name;
  std::optional<double> fallback;  // required where absent
  std::string_view doc;
  SettingRange range = SettingRange::kAny;
};

using Settings = std::map<std::string, double>;

/// State kept for a variable: slot `m` of `w` is the variable `w/m`.
struct Slot {
  std::string_view name;
  TensorType type;
};

struct UpdateInputs {
  const Settings& settings;
  std::vector<TensorId> shared;  // as OptimizerDef::shared gave them, in the variable's type
  std::vector<TensorId> state;   // the variable, then its slots
  TensorId gradient = kNoTensor;
  bool decays = true;  // whether weight decay, where the optimizer has it, is for this variable
};

struct OptimizerDef {
  std::string_view name;
  std::string_view doc;
  std::vector<NumberSetting> settings;
  bool decays_weights = false;
  /// Whether `shared` needs the number of the step.
  bool counts_steps = false;
  std::vector<Slot> (*slots)(const Settings&, const TensorType& variable);
  /// Scalars in f64 that all updates of a step share. `rate` is the learning rate, `step` the number of the
  /// step, from 1 (kNoTensor where nothing counts them); both f64.
  std::vector<TensorId> (*shared)(GraphBuilder&, const Settings&, TensorId rate, TensorId step);
  /// Adds the operations of one update; the new values of the state, in its order.
  std::vector<TensorId> (*update)(GraphBuilder&, const UpdateInputs&);
};

const std::vector<const OptimizerDef*>& all_optimizers();
const OptimizerDef* find_optimizer(std::string_view name);

}  // namespace mtfc
