#pragma once
// Optimizers: how the new value of a variable follows from its gradient. Each is one constant in a file of
// core/optimizers/.
//
// Values that all updates of a step share, such as a rate that depends on the number of the step, are
// computed once, as f64 scalars; an update gets them in the type of its variable. Example: adam's bias
// corrections are two such scalars.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/model/factored_dims.h"

namespace mtfc {

/// The range of numbers that a setting may have.
enum class SettingRange { kAny, kPositive, kNotNegative, kBelowOne /* [0, 1) */, kUpToOne /* [0, 1] */ };

struct NumberSetting {
  std::string_view name;
  std::optional<double> fallback;  // the default; a setting without one is required
  std::string_view doc;
  SettingRange range = SettingRange::kAny;
};

using Settings = std::map<std::string, double>;

/// State kept for a variable: slot `m` of `w` is the variable `w/m`.
struct Slot {
  std::string_view name;
  TensorType type;
};

/// The facts about a variable that an optimizer needs to keep state for it.
struct UpdatedVariable {
  TensorType type;
  std::optional<FactoredDims> factored = std::nullopt;
};

struct UpdateInputs {
  const Settings& settings;
  std::vector<TensorId> shared;  // the results of OptimizerDef::shared, in the variable's type
  std::vector<TensorId> state;   // the variable, then its slots
  TensorId gradient = kNoTensor;
  bool decays = true;  // weight decay, if the optimizer has it, applies to this variable
  std::optional<FactoredDims> factored = std::nullopt;
};

struct OptimizerDef {
  std::string_view name;
  std::string_view doc;
  std::vector<NumberSetting> settings;
  bool decays_weights = false;
  /// True if `shared` needs the number of the step.
  bool counts_steps = false;
  /// True if its state for a variable depends on the two dimensions that are factored.
  bool factors = false;
  std::vector<Slot> (*slots)(const Settings&, const UpdatedVariable&);
  /// The f64 scalars that all updates of a step share. `rate` is the learning rate, `step` the number of the
  /// step, from 1 (kNoTensor if nothing counts steps); both are f64.
  std::vector<TensorId> (*shared)(GraphBuilder&, const Settings&, TensorId rate, TensorId step);
  /// Adds the operations of one update and returns the new values of the state, in its order.
  std::vector<TensorId> (*update)(GraphBuilder&, const UpdateInputs&);
};

const std::vector<const OptimizerDef*>& all_optimizers();
const OptimizerDef* find_optimizer(std::string_view name);

}  // namespace mtfc
