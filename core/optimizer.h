#pragma once
// Optimizers: how a variable's new value follows from its gradient. One constant per file of core/optimizers/.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph.h"
#include "core/model.h"

namespace mtfc {

struct NumberSetting {
  std::string_view name;
  std::optional<double> fallback;  // required where absent
  std::string_view doc;
};

struct OptimizerDef {
  std::string_view name;
  std::string_view doc;
  std::vector<NumberSetting> settings;
  /// Names of the state kept per variable: slot `m` of `w` is the variable `w/m`.
  std::vector<std::string_view> slots;
  /// Adds the operations of one update. `state` holds the variable, then its slots; so does the result, with the
  /// new values.
  std::vector<TensorId> (*update)(GraphBuilder&, const std::map<std::string, double>& settings,
                                  const std::vector<TensorId>& state, TensorId gradient);
};

const std::vector<const OptimizerDef*>& all_optimizers();
const OptimizerDef* find_optimizer(std::string_view name);

}  // namespace mtfc
