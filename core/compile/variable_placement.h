#pragma once
// The shardings of variables, and their places in the arena.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/model/annotations.h"
#include "core/model/model.h"
#include "core/model/state_split.h"
#include "core/program/program.h"
#include "core/tensors/layout.h"

namespace mtfc {

using VariableShardings = std::function<Sharding(const VariableDecl&)>;

/// The shardings that rules and `shard_state_over` give. Both arguments must outlive the result.
VariableShardings shardings_by_rules(const Layout& layout, const StateSplit& split);

/// The variables one behind the other from `bytes` on, which then is where the last one ends. Throws UserError for
/// variables that are too large to be counted.
std::vector<ProgramVariable> placed_variables(std::vector<VariableDecl> all, const Mesh& mesh,
                                              const VariableShardings& shardings, int64_t& bytes);

/// The shardings of the variables that an annotated or propagated layout fixes, of the model, its optimizer and its
/// caches.
Shardings fixed_variables(const Model& model, const Layout& layout, const StateSplit& split,
                          const Annotations& annotations);

}  // namespace mtfc
