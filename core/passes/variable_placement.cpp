#include "core/passes/variable_placement.h"

#include <utility>

#include "core/model/entry_points.h"
#include "core/model/size_limits.h"

namespace mtfc {

VariableShardings shardings_by_rules(const Layout& layout, const StateSplit& split) {
  return [&](const VariableDecl& variable) {
    const Dims& dims = variable.type.dims;
    Sharding sharding = legal_sharding_by_rules(layout, dims);
    if (variable.optimizer_state) split_state(split, dims, layout.mesh, sharding);
    return sharding;
  };
}

std::vector<ProgramVariable> placed_variables(std::vector<VariableDecl> all, const Mesh& mesh,
                                              const VariableShardings& shardings, int64_t& bytes) {
  std::vector<ProgramVariable> variables;
  require_countable(all);
  for (VariableDecl& decl : all) {
    ProgramVariable variable{std::move(decl), {}, bytes, 0};
    variable.sharding = shardings(variable.decl);
    variable.bytes = elements(largest_dims(variable.decl.type.dims, variable.sharding, mesh)) *
                     size_of(variable.decl.type.dtype);
    bytes += aligned(variable.bytes);
    variables.push_back(std::move(variable));
  }
  return variables;
}

std::map<std::string, Sharding, std::less<>> fixed_variables(const Model& model, const Layout& layout,
                                                             const StateSplit& split,
                                                             const Annotations& annotations) {
  std::vector<VariableDecl> all = all_variables(model);
  if (model.decode) all.insert(all.end(), model.decode->caches.begin(), model.decode->caches.end());
  std::map<std::string, Sharding, std::less<>> fixed;
  for (const VariableDecl& variable : all) {
    const SharedAnnotation annotation = annotations.of_variable(variable.name);
    const bool is_split = split.names.contains(variable.name) && !split.axes.empty();
    if (annotation) {
      Sharding& sharding = fixed.emplace(variable.name, annotation->sharding).first->second;
      if (is_split && leaves_state_to_be_split(*annotation))
        split_state(split, variable.type.dims, layout.mesh, sharding);
    } else if (!layout.propagate || has_rule(layout, variable.type.dims) || is_split) {
      fixed.emplace(variable.name, shardings_by_rules(layout, split)(variable));
    }
  }
  return fixed;
}

}  // namespace mtfc
