#include "core/search/annotation_search.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/diagnostics/stop.h"
#include "core/explain/layout_trials.h"
#include "core/explain/model_names.h"
#include "core/model/entry_points.h"
#include "core/search/plain_layouts.h"
#include "core/search/search_space.h"

namespace mtfc {
namespace {

// The entry point on which the sharding of variables is decided.
const EntryPoint& deciding_entry(const Model& model, const Program& program) {
  return *program.find(has_train_entry(model) ? "train" : "evaluate");
}

// The splits of some tensors, by name.
using Splits = std::map<std::string, std::vector<Rule>>;

bool is_same(const std::vector<Rule>& a, const std::vector<Rule>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Rule& x, const Rule& y) { return x.dim == y.dim && x.axes == y.axes; });
}

// One annotation for all layers where their tensors are split alike.
std::vector<Annotation> annotations_of(const Splits& splits, const ModelNames& names) {
  std::map<std::string, std::vector<std::string>> groups;  // by pattern
  for (const auto& [name, rules] : splits) groups[names.over_layers(name)].push_back(name);
  std::vector<Annotation> annotations;
  for (const auto& [pattern, tensors] : groups) {
    const std::vector<Rule>& first = splits.at(tensors.front());
    const bool alike = std::all_of(tensors.begin(), tensors.end(),
                                   [&](const std::string& name) { return is_same(splits.at(name), first); });
    if (alike)
      annotations.push_back({pattern, first, {}});
    else
      for (const std::string& name : tensors) annotations.push_back({name, splits.at(name), {}});
  }
  return annotations;
}

Splits inputs_and_variables(const Program& program, const EntryPoint& entry) {
  Splits splits;
  for (const Binding& input : entry.inputs) {
    const Value& value = entry.values[input.value];
    splits[input.name] = splits_of(value.type.dims, value.sharding);
  }
  for (const ProgramVariable& variable : program.variables)
    if (!variable.decl.optimizer_state)
      splits[variable.decl.name] = splits_of(variable.decl.type.dims, variable.sharding);
  return splits;
}

// For each dimension the axes that split it most often, in the order of the model's dimensions.
std::vector<Rule> most_frequent(const EntryPoint& entry, const Model& model) {
  std::map<std::string, std::map<AxisList, int>> counts;
  for (const Value& value : entry.values)
    for (size_t d = 0; d < value.type.dims.size(); ++d)
      if (!value.sharding.dims[d].empty()) ++counts[value.type.dims[d].name][value.sharding.dims[d]];
  std::vector<Rule> rules;
  for (const Dim& dim : model.dims) {
    const auto at = counts.find(dim.name);
    if (at == counts.end()) continue;
    const auto most = std::max_element(at->second.begin(), at->second.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    rules.push_back({dim.name, most->first, {}});
  }
  return rules;
}

// The tensors between inputs and variables that the two plans hold in different shardings, as the first one does.
Splits differing(const EntryPoint& wanted, const EntryPoint& other, const ModelNames& names) {
  std::map<std::string, const Value*> known;
  for (const Value& value : other.values)
    if (value.from_model) known[value.name] = &value;
  Splits splits;
  for (const Value& value : wanted.values) {
    if (!value.from_model || !names.is_known(value.name)) continue;
    const auto at = known.find(value.name);
    if (at != known.end() && at->second->sharding == value.sharding) continue;
    splits[value.name] = splits_of(value.type.dims, value.sharding.whole());
  }
  return splits;
}

// Appends the annotations of patterns that the layout does not have.
void append(std::vector<Annotation> more, Layout& layout) {
  for (Annotation& annotation : more) {
    const auto is_known = [&](const Annotation& old) { return old.pattern == annotation.pattern; };
    if (std::none_of(layout.annotations.begin(), layout.annotations.end(), is_known))
      layout.annotations.push_back(std::move(annotation));
  }
}

// The plain layout of least cost, in case that there is no time for more; nothing if there is not even time for one.
std::optional<AnnotatedLayout> best_plain(const Model& model, const Layout& fixed, const OfferedAxes& offered,
                                          const CompileOptions& options, const AnnotationStop& stop) {
  SpaceLimits limits;
  limits.dims = offered.dims;
  limits.most_axes = offered.most_axes;
  limits.allow_uneven = offered.allow_uneven;
  const SearchSpace space(model, fixed, Hardware(), limits);
  std::optional<AnnotatedLayout> best;
  try {
    for (const std::vector<uint16_t>& choice : plain_choices(model, space)) {
      const StopScope scope(best ? stop.stops : stop.is_late);
      const Layout layout = space.layout(choice);
      const auto program = std::make_shared<const Program>(compile(model, layout, options));
      const EntryPoint& entry = deciding_entry(model, *program);
      const int64_t cost =
          plan_cost(cost_report(*program, entry, predicted_counts(*program, entry), nullptr));
      if (!best || cost < best->cost) best = AnnotatedLayout{layout, cost, 0, cost, false, program};
      if (stop.finds) stop.finds(cost);
    }
  } catch (const UserError&) {
    // A layout of which only its annotations make sense; the search below says what is wrong with one that never does.
  } catch (const Stopped&) {
    // There is no time for the others.
  }
  return best;
}

AnnotatedLayout best_of_all(const Model& model, const Layout& fixed, const OfferedAxes& offered,
                            const CompileOptions& options, const AnnotationStop& stop) {
  Layout open = fixed;
  open.propagate = true;
  CompileOptions searching = options;
  searching.offered = &offered;
  searching.ends_choice = stop.stops;
  // The layout leaves little to choose, so its own plan is found soon.
  CompileOptions writing = options;
  writing.ends_choice = stop.ends_layout;
  const Program chosen = compile(model, open, searching);
  const EntryPoint& plan = deciding_entry(model, chosen);
  check_invariant(plan.plan.has_value(), "a search over annotations chooses no plan");
  const ModelNames names(model, plan.name);

  AnnotatedLayout found{open, PlanCost::kImpossible, plan.plan->bound, plan.plan->cost, !stop.stops()};
  const auto keep_better = [&](const Layout& layout) {
    const auto program = std::make_shared<const Program>(compile(model, layout, writing));
    const int64_t cost = deciding_entry(model, *program).plan->cost;
    if (cost < found.cost) {
      found.cost = cost;
      found.layout = layout;
      found.program = program;
    }
    return program;
  };
  // Kept annotations come first, and an exact name before a pattern, so they go on deciding for their tensors.
  Layout layout = open;
  append(annotations_of(inputs_and_variables(chosen, plan), names), layout);
  for (const Rule& rule : most_frequent(plan, model))
    if (!find_rule(layout, rule.dim)) layout.rules.push_back(rule);
  const std::shared_ptr<const Program> first = keep_better(layout);
  if (found.cost > found.chosen) {
    append(annotations_of(differing(plan, deciding_entry(model, *first), names), names), layout);
    try {
      keep_better(layout);
    } catch (const Stopped&) {
      // The first way to write the plan down stays.
    }
  }
  return found;
}

}  // namespace

std::optional<AnnotatedLayout> search_annotations(const Model& model, const Layout& fixed,
                                                  const OfferedAxes& offered, const CompileOptions& options,
                                                  const AnnotationStop& stop) {
  const StopScope late(stop.is_late);
  std::optional<AnnotatedLayout> plain = best_plain(model, fixed, offered, options, stop);
  if (plain && stop.stops()) return plain;
  try {
    AnnotatedLayout found = best_of_all(model, fixed, offered, options, stop);
    if (found.is_complete || !plain || found.cost <= plain->cost) return found;
    plain->bound = found.bound;
  } catch (const Stopped&) {
    // The plain layout is all that there is.
  }
  return plain;
}

}  // namespace mtfc
