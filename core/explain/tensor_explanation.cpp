#include "core/explain/tensor_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/diagnostics/suggest.h"
#include "core/model/annotations.h"
#include "core/model/state_split.h"
#include "core/plan/choose_plan.h"
#include "core/tensors/name_pattern.h"

namespace mtfc {
namespace {

// Ends a compilation of which no more is needed.
struct PlanIsKnown {};

// Alternatives are compiled while that takes no more than so many steps in all, but at least a few: a model of hundreds
// of layers takes seconds for each.
constexpr size_t kMostTriedSteps = 60'000;
constexpr size_t kLeastTrials = 2;

// The origins of a tensor's sharding in the plan of the entry point; nothing if `layout` leaves nothing to choose.
std::optional<TensorOrigins> planned_origins(const ExplainedProgram& explained, const Layout& layout,
                                             const std::string& tensor) {
  std::optional<TensorOrigins> found;
  CompileOptions options = explained.options;
  options.planned = [&](const ChosenPlan& plan, const PlanConditions& conditions) {
    if (plan.entry.entry.name != explained.entry.name) return;
    found = origins_of(plan.entry, conditions, tensor);
    throw PlanIsKnown();
  };
  try {
    compile(explained.model, layout, options);
  } catch (const PlanIsKnown&) {
    // Its steps are not needed.
  }
  return found;
}

std::vector<Sharding> candidates_if_propagated(const ExplainedProgram& explained, const std::string& tensor) {
  Layout layout = explained.layout;
  layout.propagate = true;
  try {
    const std::optional<TensorOrigins> origins = planned_origins(explained, layout, tensor);
    return origins ? origins->candidates : std::vector<Sharding>{};
  } catch (const UserError&) {
    return {};
  }
}

[[noreturn]] void throw_pattern(const ExplainedProgram& explained, const std::string& pattern) {
  std::string first;
  for (const std::string& name : explained.names.all())
    if (first.empty() && explained.names.fits(pattern, name) && !forms_of(explained.entry, name).empty())
      first = name;
  throw UserError(fmt::format("'{}' is a pattern, and one tensor is explained at a time", pattern),
                  first.empty() ? fmt::format("no tensor of {} matches it", explained.entry.name)
                                : fmt::format("'{}' matches it; mtfc show lists all that do", first));
}

[[noreturn]] void throw_unknown(const ExplainedProgram& explained, const std::string& tensor) {
  const std::string& entry = explained.entry.name;
  if (explained.names.is_known(tensor)) throw explained.names.not_computed(tensor);
  if (is_name_pattern(tensor)) throw_pattern(explained, tensor);
  // A form such as `h@whole` is known by the tensor's own name.
  const std::string own = tensor_name(tensor);
  const bool is_form = own != tensor && !forms_of(explained.entry, own).empty();
  throw UserError(fmt::format("{} has no tensor '{}'", entry, tensor),
                  is_form ? fmt::format("'{}' is explained with all the shardings in which it is held", own)
                          : did_you_mean(tensor, explained.names.all()));
}

// True if `shard_state_over` splits a tensor that an update computes. Under rules alone, no other tensor has axes that
// no rule gives it.
bool is_split_in_update(const ExplainedProgram& explained, const Stated& stated, const StateSplit& split,
                        const Sharding& sharding) {
  if (explained.entry.plan) return false;
  for (size_t d = 0; d < sharding.dims.size(); ++d)
    for (const int axis : sharding.dims[d])
      if (contains(split.axes, axis) && axis_fixed_by_rule(stated, d, axis).kind == FixedBy::Kind::kNothing)
        return true;
  return false;
}

// For tensors that are in no plan: under rules alone all of them, and otherwise the variables that `init` fills, whose
// shardings the layout or another entry point has decided.
void explain_without_plan(const ExplainedProgram& explained, TensorExplanation& explanation) {
  const Layout& layout = explained.layout;
  const Dims& dims = explanation.type.dims;
  Stated stated{layout, dims, {Annotations(explained.model, layout).of_variable(explanation.tensor)}};
  const StateSplit split = state_split(explained.model, layout);
  stated.is_state = is_split_state(split, explanation.tensor) ||
                    is_split_in_update(explained, stated, split, explanation.sharding);
  stated.is_decided = explained.entry.plan && layout.propagate && !has_rule(layout, dims);
  explanation.fixed = fixed_by(stated);
  for (size_t d = 0; d < dims.size(); ++d) {
    const size_t first = explanation.splits.size();
    for (const int axis : explanation.sharding.dims[d]) {
      FixedBy fixed = axis_fixed_by(stated, d, axis);
      if (explanation.splits.size() > first && explanation.splits.back().fixed.kind == fixed.kind)
        explanation.splits.back().axes.push_back(axis);
      else
        explanation.splits.push_back({dims[d].name, {axis}, {{explanation.tensor, ""}}, std::move(fixed)});
    }
  }
}

// Says of the state that a plan or the rules split for `shard_state_over` whether the model or the layout states that.
void place_state_split(const ExplainedProgram& explained, TensorExplanation& explanation) {
  const StateSharding& state = explained.layout.state;
  const auto place = [&](FixedBy& fixed) {
    if (fixed.kind != FixedBy::Kind::kStateSplit) return;
    fixed.text = state.axes.empty() ? "model" : "layout";
    fixed.location = state.axes.empty() ? explained.model.train->shard_location : state.location;
  };
  place(explanation.fixed);
  for (AxisOrigin& split : explanation.splits) place(split.fixed);
}

// The dimensions that two shardings split differently.
int differences(const Sharding& a, const Sharding& b) {
  int count = 0;
  for (size_t d = 0; d < a.dims.size(); ++d) count += a.dims[d] != b.dims[d];
  return count;
}

// The sharding with one axis moved to another dimension, or left out, or added.
std::vector<Sharding> neighbours(const Sharding& sharding, const Mesh& mesh) {
  std::vector<Sharding> found;
  for (int axis = 0; axis < static_cast<int>(mesh.axes().size()); ++axis) {
    if (mesh.size(axis) == 1) continue;
    Sharding without = sharding.whole();
    for (AxisList& axes : without.dims) std::erase(axes, axis);
    found.push_back(without);
    for (size_t d = 0; d < without.dims.size(); ++d) {
      found.push_back(without);
      found.back().dims[d].push_back(axis);
    }
  }
  return found;
}

bool can_be_annotated(const ExplainedProgram& explained, const std::string& tensor) {
  Layout alone{explained.layout.mesh, {}};
  alone.annotations.push_back({tensor, {}, {}});
  try {
    Annotations(explained.model, alone);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

// `candidates`: the shardings that propagation offers the tensor.
void add_alternatives(const ExplainedProgram& explained, std::vector<Sharding> candidates,
                      TensorExplanation& explanation) {
  for (const Sharding& near : neighbours(explanation.sharding, explained.layout.mesh))
    if (std::find(candidates.begin(), candidates.end(), near) == candidates.end()) candidates.push_back(near);
  // An annotation may keep a tensor in the sharding in which it is made, where rules would take it into another one.
  if (explained.layout.propagate || explanation.held.empty() ||
      explanation.fixed.kind == FixedBy::Kind::kAnnotation)
    std::erase(candidates, explanation.sharding.whole());
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Sharding& a, const Sharding& b) {
    return differences(a, explanation.sharding) < differences(b, explanation.sharding);
  });
  const size_t most = std::clamp(kMostTriedSteps / std::max<size_t>(explained.entry.steps.size(), 1),
                                 kLeastTrials, kMostAlternatives);
  if (candidates.size() > most) {
    explanation.untried = candidates.size() - most;
    candidates.resize(most);
  }
  LayoutTrials trials(explained);
  for (const Sharding& candidate : candidates) {
    const Annotation annotation{explanation.tensor, splits_of(explanation.type.dims, candidate), {}};
    if (const std::optional<Trial> trial = trials.attempt({annotation}))
      explanation.alternatives.push_back({candidate, trial->figures});
    else if (trials.has_ended())
      ++explanation.untried;
  }
  std::stable_sort(
      explanation.alternatives.begin(), explanation.alternatives.end(),
      [](const Alternative& a, const Alternative& b) { return costs_less(a.figures, b.figures); });
}

}  // namespace

TensorExplanation explain_tensor(const ExplainedProgram& explained, const std::string& tensor) {
  TensorExplanation explanation;
  explanation.tensor = explained.names.canonical(tensor);
  const std::vector<const Value*> forms = forms_of(explained.entry, explanation.tensor);
  std::optional<TensorOrigins> origins;
  if (explained.entry.plan) origins = planned_origins(explained, explained.layout, explanation.tensor);
  const bool is_planned = origins && origins->is_known;
  if (forms.empty() && !is_planned) throw_unknown(explained, tensor);
  explanation.place = explained.names.place(explanation.tensor);
  explanation.figures = explained.figures;
  explanation.type = is_planned ? origins->type : forms.front()->type;
  explanation.sharding = is_planned ? origins->sharding : forms.front()->sharding;
  const TensorForm own{explanation.type.dims, explanation.sharding};
  for (const Value* value : forms)
    if (TensorForm form{value->type.dims, value->sharding};
        form != own &&
        std::find(explanation.held.begin(), explanation.held.end(), form) == explanation.held.end())
      explanation.held.push_back(std::move(form));
  if (is_planned) {
    explanation.fixed = origins->fixed;
    explanation.splits = origins->axes;
    explanation.is_reached =
        std::any_of(origins->candidates.begin(), origins->candidates.end(),
                    [](const Sharding& candidate) { return !split_axes(candidate).empty(); });
  } else {
    explain_without_plan(explained, explanation);
  }
  place_state_split(explained, explanation);
  explanation.can_be_annotated = can_be_annotated(explained, explanation.tensor);
  if (explanation.can_be_annotated)
    add_alternatives(
        explained, is_planned ? origins->candidates : candidates_if_propagated(explained, explanation.tensor),
        explanation);
  for (const ReshardStep& reshard : explained.reshards)
    if (reshard.tensor == explanation.tensor) explanation.reshards.push_back(reshard);
  return explanation;
}

}  // namespace mtfc
