#include "core/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/choice/choose_plan.h"
#include "core/diagnostics/suggest.h"
#include "core/tensors/name_pattern.h"

namespace mtfc {
namespace {

// True if the program has this plan. With hardware, others were chosen too, and compared with it.
bool is_plan_of(const EntryPoint& entry, const ChosenPlan& plan) {
  if (plan.entry.entry.name != entry.name) return false;
  return !entry.plan || *entry.plan == figures_of(plan);
}

// The origins of a tensor's sharding in the plan of the entry point; nothing where `layout` leaves nothing to choose.
std::optional<TensorOrigins> planned_origins(const ExplainedProgram& explained, const Layout& layout,
                                             const std::string& tensor) {
  std::optional<TensorOrigins> found;
  CompileOptions options = explained.options;
  options.planned = [&](const ChosenPlan& plan, const PlanConditions& conditions) {
    if (is_plan_of(explained.entry, plan)) found = origins_of(plan.entry, conditions, tensor);
  };
  compile(explained.model, layout, options);
  return found;
}

FixedBy rule_for(const Layout& layout, const std::string& dim) {
  const Rule* rule = find_rule(layout, dim);
  if (!rule) return {};
  return {FixedBy::Kind::kRule, fmt::format("{}:{}", dim, layout.mesh.names(rule->axes)), rule->location};
}

FixedBy annotation_of(const SharedAnnotation& annotation) {
  return {FixedBy::Kind::kAnnotation, annotation->pattern, annotation->location};
}

SplitReason reason_of(const AxisOrigin& origin, const Layout& layout) {
  SplitReason reason{origin.dim, origin.axes, origin.way, {}};
  if (origin.annotation)
    reason.origin = annotation_of(origin.annotation);
  else if (reason.origin = rule_for(layout, origin.dim);
           reason.origin.kind == FixedBy::Kind::kNothing && origin.is_decided)
    reason.origin.kind = FixedBy::Kind::kOtherEntry;
  return reason;
}

// The values that hold the tensor.
std::vector<const Value*> forms_of(const EntryPoint& entry, const std::string& tensor) {
  std::vector<const Value*> forms;
  for (const Value& value : entry.values)
    if (tensor_name(value) == tensor) forms.push_back(&value);
  std::stable_sort(forms.begin(), forms.end(),
                   [&](const Value* a, const Value* b) { return (a->name == tensor) > (b->name == tensor); });
  return forms;
}

// The dimensions of the tensor that its sharding and another one split differently.
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

// `candidates`: the shardings that propagation offers the tensor.
void add_alternatives(const ExplainedProgram& explained, std::vector<Sharding> candidates,
                      TensorExplanation& explanation) {
  for (const Sharding& near : neighbours(explanation.sharding, explained.layout.mesh))
    if (std::find(candidates.begin(), candidates.end(), near) == candidates.end()) candidates.push_back(near);
  std::erase(candidates, explanation.sharding);
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Sharding& a, const Sharding& b) {
    return differences(a, explanation.sharding) < differences(b, explanation.sharding);
  });
  if (candidates.size() > kMostTrials) {
    explanation.untried = candidates.size() - kMostTrials;
    candidates.resize(kMostTrials);
  }
  LayoutTrials trials(explained.model, explained.layout, explained.entry.name, explained.options,
                      explained.progress);
  for (const Sharding& candidate : candidates) {
    const Annotation annotation{explanation.tensor, splits_of(explanation.type.dims, candidate), {}};
    if (const std::optional<Trial> trial = trials.attempt({annotation}))
      explanation.alternatives.push_back({candidate, trial->figures});
  }
  std::stable_sort(
      explanation.alternatives.begin(), explanation.alternatives.end(),
      [](const Alternative& a, const Alternative& b) { return a.figures.cost < b.figures.cost; });
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

// True if the reshards move the same tensor for the same operation.
bool serves_same(const ReshardStep& a, const ReshardStep& b) {
  if (a.tensor != b.tensor || a.moves != b.moves) return false;
  return std::any_of(a.readers.begin(), a.readers.end(), [&](const OperationPlace& reader) {
    return std::any_of(b.readers.begin(), b.readers.end(),
                       [&](const OperationPlace& other) { return other.name == reader.name; });
  });
}

// True if less is sent of the tensor for the operation than before, and by fewer collectives like this one. Another kind
// in its place that sends less, such as a reduce_scatter for an all_reduce, is another plan.
bool is_removed(const ReshardStep& reshard, const std::vector<ReshardStep>& before,
                const std::vector<ReshardStep>& now) {
  const auto use = [&](const std::vector<ReshardStep>& reshards) {
    int64_t like_it = 0, bytes = 0;
    for (const ReshardStep& other : reshards) {
      if (!serves_same(reshard, other)) continue;
      bytes += other.all_bytes();
      like_it += other.collective == reshard.collective;
    }
    return std::pair(like_it, bytes);
  };
  const auto [like_it_before, bytes_before] = use(before);
  const auto [like_it_now, bytes_now] = use(now);
  return like_it_now < like_it_before && bytes_now < bytes_before;
}

// The changes that may remove a reshard: annotations of the tensors of the operations at both of its ends.
class Changes {
 public:
  Changes(const ExplainedProgram& explained, const ReshardStep& reshard)
      : explained_(explained), names_(explained.model, explained.entry.name) {
    add_tensor(reshard.tensor);
    for (const OperationPlace& reader : reshard.readers)
      for (const std::string& tensor : reader.tensors) add_tensor(tensor);
    for (const std::string& tensor : reshard.maker.tensors) add_tensor(tensor);
    add_sharding(reshard.type.dims, reshard.from);
    add_sharding(reshard.type.dims, reshard.to);
    // A sum over devices may leave each of them a part.
    for (size_t d = 0; d < reshard.type.dims.size(); ++d) {
      Sharding scattered = reshard.from.whole();
      for (const int axis : partial_axes(reshard.from)) scattered.dims[d].push_back(axis);
      add_sharding(reshard.type.dims, scattered);
    }
    for (const Near& near : near_) add_sharding(near.dims, near.sharding);
  }

  // One by one; together with propagation where `propagates`.
  std::vector<LayoutChange> all(bool propagates) const {
    std::vector<LayoutChange> changes;
    if (propagates) changes.push_back({{}, "", true});
    for (const Near& near : near_)
      for (const Sharding& sharding : shardings_for(near))
        changes.push_back(
            {Annotation{pattern_for(near.name), splits_of(near.dims, sharding), {}}, "", propagates});
    for (const Annotation& old : explained_.layout.annotations)
      if (std::any_of(near_.begin(), near_.end(), [&](const Near& near) { return is_for(old, near.name); }))
        changes.push_back({{}, old.pattern, propagates});
    return changes;
  }

 private:
  // A tensor near the reshard, in the sharding that it has now.
  struct Near {
    std::string name;
    Dims dims;
    Sharding sharding;
  };

  static bool is_for(const Annotation& annotation, const std::string& name) {
    return is_name_pattern(annotation.pattern) ? matches_name(annotation.pattern, name)
                                               : annotation.pattern == name;
  }

  // Adds the tensor, or the one of the model that it belongs to: `w` and its gradient for `w/adamw/mul`.
  void add_tensor(const std::string& name) {
    std::string own = name;
    while (!names_.is_known(own)) {
      const size_t slash = own.rfind('/');
      if (slash == std::string::npos) return;
      own.resize(slash);
    }
    add_near(own);
    if (own != name) add_near(own + "/grad");
  }

  void add_near(const std::string& name) {
    if (std::any_of(near_.begin(), near_.end(), [&](const Near& near) { return near.name == name; })) return;
    const std::vector<const Value*> forms = forms_of(explained_.entry, name);
    if (!forms.empty()) near_.push_back({name, forms[0]->type.dims, forms[0]->sharding.whole()});
  }

  void add_sharding(const Dims& dims, const Sharding& sharding) {
    std::map<std::string, AxisList> splits;
    for (size_t d = 0; d < dims.size(); ++d) splits[dims[d].name] = sharding.dims[d];
    if (std::find(splits_.begin(), splits_.end(), splits) == splits_.end()) splits_.push_back(splits);
  }

  // Those of the tensors near it, as far as they have its dimensions, and whole.
  std::vector<Sharding> shardings_for(const Near& near) const {
    std::vector<Sharding> found;
    const auto add = [&](const Sharding& sharding) {
      if (std::find(found.begin(), found.end(), sharding) == found.end()) found.push_back(sharding);
    };
    for (const auto& splits : splits_) {
      Sharding sharding = replicated(near.dims.size());
      for (size_t d = 0; d < near.dims.size(); ++d)
        if (const auto at = splits.find(near.dims[d].name); at != splits.end()) sharding.dims[d] = at->second;
      add(sharding);
    }
    add(replicated(near.dims.size()));
    return found;
  }

  // A pattern over all layers, unless the layout names the tensor, which would come first.
  std::string pattern_for(const std::string& name) const {
    const std::vector<Annotation>& old = explained_.layout.annotations;
    const bool is_named = std::any_of(
        old.begin(), old.end(), [&](const Annotation& annotation) { return annotation.pattern == name; });
    return is_named ? name : names_.over_layers(name);
  }

  const ExplainedProgram& explained_;
  ModelNames names_;
  std::vector<Near> near_;
  std::vector<std::map<std::string, AxisList>> splits_;  // by dimension
};

std::vector<ReshardStep> reshards_instead(const std::vector<ReshardStep>& before,
                                          const std::vector<ReshardStep>& after) {
  using Key = std::tuple<std::string, CollectiveKind, AxisList>;
  const auto key = [](const ReshardStep& r) { return Key{r.tensor, r.collective.kind, r.collective.axes}; };
  std::map<Key, int64_t> sent;
  for (const ReshardStep& reshard : before) sent[key(reshard)] += reshard.all_bytes();
  std::vector<ReshardStep> instead;
  for (const ReshardStep& reshard : after) {
    int64_t& known = sent[key(reshard)];
    if (reshard.all_bytes() > known) instead.push_back(reshard);
    known = std::max<int64_t>(known - reshard.all_bytes(), 0);
  }
  return largest(std::move(instead), after.size());
}

}  // namespace

TensorExplanation explain_tensor(const ExplainedProgram& explained, const std::string& tensor) {
  const ModelNames names(explained.model, explained.entry.name);
  TensorExplanation explanation;
  explanation.tensor = names.canonical(tensor);
  const std::vector<const Value*> forms = forms_of(explained.entry, explanation.tensor);
  const bool is_planned = explained.entry.plan.has_value();
  const std::optional<TensorOrigins> origins =
      is_planned ? planned_origins(explained, explained.layout, explanation.tensor) : std::nullopt;
  if (forms.empty() && !(origins && origins->is_known)) {
    if (names.is_known(tensor))
      throw UserError(
          fmt::format("'{}' is not computed by {}", tensor, explained.entry.name),
          "nothing uses it, or the compiler has simplified it away; --entry names another entry point");
    throw UserError(fmt::format("{} has no tensor '{}'", explained.entry.name, tensor),
                    did_you_mean(tensor, names.all()));
  }
  explanation.place = names.place(explanation.tensor);
  explanation.figures = figures_of(explained.program, explained.entry);
  explanation.type = forms.empty() ? origins->type : forms[0]->type;
  explanation.sharding = forms.empty() ? origins->sharding : forms[0]->sharding;
  for (const Value* form : forms)
    if (form->sharding != explanation.sharding &&
        std::find(explanation.held.begin(), explanation.held.end(), form->sharding) == explanation.held.end())
      explanation.held.push_back(form->sharding);
  std::vector<Sharding> candidates;
  if (origins && origins->is_known) {
    explanation.sharding = origins->sharding;
    if (origins->annotation)
      explanation.fixed = annotation_of(origins->annotation);
    else
      explanation.fixed.kind = origins->is_decided ? FixedBy::Kind::kOtherEntry
                               : origins->is_fixed ? FixedBy::Kind::kRule
                                                   : FixedBy::Kind::kChoice;
    for (const AxisOrigin& axis : origins->axes)
      explanation.splits.push_back(reason_of(axis, explained.layout));
    candidates = origins->candidates;
  } else {
    const Dims& dims = explanation.type.dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (!explanation.sharding.dims[d].empty())
        explanation.splits.push_back({dims[d].name,
                                      explanation.sharding.dims[d],
                                      {{explanation.tensor, ""}},
                                      rule_for(explained.layout, dims[d].name)});
    if (has_rule(explained.layout, dims)) explanation.fixed.kind = FixedBy::Kind::kRule;
    candidates = candidates_if_propagated(explained, explanation.tensor);
  }
  add_alternatives(explained, std::move(candidates), explanation);
  for (ReshardStep& reshard : reshard_steps(explained.program, explained.entry))
    if (reshard.tensor == explanation.tensor) explanation.reshards.push_back(std::move(reshard));
  return explanation;
}

ReshardExplanation explain_reshard(const ExplainedProgram& explained, const ReshardStep& reshard,
                                   size_t most_trials) {
  ReshardExplanation explanation{reshard, figures_of(explained.program, explained.entry), {}, {}, {}, 0};
  const std::vector<ReshardStep> reshards = reshard_steps(explained.program, explained.entry);
  const Changes changes(explained, reshard);
  LayoutTrials trials(explained.model, explained.layout, explained.entry.name, explained.options,
                      explained.progress);
  const auto needs_more = [&](const Trial& trial) {
    const LayoutFigures &then = trial.figures, &now = explanation.figures;
    return then.flops > now.flops || then.memory > now.memory + now.memory / 100;
  };
  std::optional<Trial> frugal, cheapest;
  const auto keep_cheaper = [](std::optional<Trial>& best, const Trial& trial) {
    if (!best || trial.figures.cost < best->figures.cost) best = trial;
  };
  // Propagation decides everything anew, so it is proposed only where an annotation alone does not help.
  for (const bool propagates : {false, true}) {
    if (cheapest || (propagates && explained.layout.propagate)) break;
    std::vector<LayoutChange> all = changes.all(propagates);
    if (all.size() > most_trials) all.resize(most_trials);
    for (const LayoutChange& change : all) {
      const std::optional<Trial> trial = trials.attempt(change);
      if (!trial || !is_removed(reshard, reshards, trial->reshards)) continue;
      keep_cheaper(cheapest, *trial);
      if (!needs_more(*trial)) keep_cheaper(frugal, *trial);
    }
  }
  explanation.removal = frugal ? frugal : cheapest;
  if (frugal && cheapest->figures.cost < frugal->figures.cost) explanation.cheaper = cheapest;
  explanation.tried = trials.made();
  if (explanation.removal) explanation.instead = reshards_instead(reshards, explanation.removal->reshards);
  return explanation;
}

ReshardExplanation explain_step(const ExplainedProgram& explained, int64_t step) {
  const IndexedBy<StepIndex, Step>& steps = explained.entry.steps;
  if (step < 0 || step >= static_cast<int64_t>(steps.size()))
    throw UserError(fmt::format("{} has no step {}", explained.entry.name, step),
                    fmt::format("its steps are 0 to {}", steps.size() - 1));
  StepIndex at(static_cast<size_t>(step));
  if (const auto* wait = steps[at].as<AwaitCollective>()) at = wait->start;
  for (const ReshardStep& reshard : reshard_steps(explained.program, explained.entry))
    if (reshard.step == at) return explain_reshard(explained, reshard);
  throw UserError(fmt::format("step {} of {} is no collective", step, explained.entry.name),
                  fmt::format("it makes '{}', whose sharding is explained by that name", steps[at].name));
}

}  // namespace mtfc
