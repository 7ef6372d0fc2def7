#include "core/compile/variable_placement.h"

#include <utility>

#include "core/model/entry_points.h"
#include "core/model/size_limits.h"

namespace mtfc {

VariableShardings shardings_by_rules(const Layout& layout, const StateSplit& split) {
  return [&](const VariableDecl& variable) {
    const bool is_state = variable.optimizer_state || is_split_state(split, variable.name);
    return stated_sharding(layout, nullptr, variable.type.dims, split, is_state);
  };
}

std::vector<ProgramVariable> placed_variables(std::vector<VariableDecl> all, const Mesh& mesh,
                                              const VariableShardings& shardings, int64_t& bytes) {
  std::vector<ProgramVariable> variables;
  require_countable(all);
  for (VariableDecl& decl : all) {
    ProgramVariable variable{std::move(decl), {}, bytes, 0};
    variable.sharding = shardings(variable.decl);
    variable.bytes = largest_bytes(variable.decl.type, variable.sharding, mesh);
    bytes += aligned(variable.bytes);
    variables.push_back(std::move(variable));
  }
  return variables;
}

Shardings fixed_variables(const Model& model, const Layout& layout, const StateSplit& split,
                          const Annotations& annotations) {
  std::vector<VariableDecl> all = all_variables(model);
  if (model.decode) all.insert(all.end(), model.decode->caches.begin(), model.decode->caches.end());
  Shardings fixed;
  for (const VariableDecl& variable : all) {
    const SharedAnnotation annotation = annotations.of_variable(variable.name);
    const bool is_state =
        (variable.optimizer_state && !split.axes.empty()) || is_split_state(split, variable.name);
    const Dims& dims = variable.type.dims;
    if (annotation || is_state || !layout.propagate || has_rule(layout, dims))
      fixed.emplace(variable.name, stated_sharding(layout, annotation.get(), dims, split, is_state));
  }
  return fixed;
}

}  // namespace mtfc
