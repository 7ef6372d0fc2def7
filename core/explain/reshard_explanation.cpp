#include "core/explain/reshard_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/diagnostics/suggest.h"
#include "core/explain/reshard_changes.h"

namespace mtfc {
namespace {

// True if the reshards move the same tensor for the same operation.
bool serves_same(const ReshardStep& a, const ReshardStep& b) {
  if (a.tensor != b.tensor || a.moves != b.moves) return false;
  return std::any_of(a.readers.begin(), a.readers.end(),
                     [&](const OperationPlace& reader) { return find_named(b.readers, reader.name); });
}

bool moves_alike(const ReshardStep& a, const ReshardStep& b) {
  return a.collective == b.collective && a.from == b.from && a.to == b.to;
}

// What an entry point sends of the tensor of a reshard for its readers, and how many collectives are like the reshard.
struct Use {
  int64_t same = 0;
  int64_t bytes = 0;
};
Use use_of(const ReshardStep& reshard, const std::vector<ReshardStep>& reshards) {
  Use use;
  for (const ReshardStep& other : reshards) {
    if (!serves_same(reshard, other)) continue;
    use.bytes += other.all_bytes();
    use.same += moves_alike(reshard, other);
  }
  return use;
}

// True if the collective itself is gone, and less is sent of the tensor for its readers. Where only names change, as
// from `w/grad/sum` to `w/grad`, all figures stay the same, and nothing was removed.
bool is_removed(const ReshardStep& reshard, const ExplainedProgram& explained, const Trial& trial) {
  const LayoutFigures &now = explained.figures, &then = trial.figures;
  if (then.bytes == now.bytes && then.collectives == now.collectives && then.flops == now.flops) return false;
  const Use before = use_of(reshard, explained.reshards), after = use_of(reshard, trial.reshards);
  return after.same < before.same && after.bytes < before.bytes;
}

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

// The cheapest changes that remove a reshard.
class Removals {
 public:
  Removals(const ExplainedProgram& explained, const ReshardStep& reshard)
      : explained_(explained), reshard_(reshard), trials_(explained) {}

  // Tries at most so many of the changes.
  void attempt(const std::vector<LayoutChange>& changes, size_t most) {
    for (size_t i = 0; i < std::min(changes.size(), most); ++i) {
      const std::optional<Trial> trial = trials_.attempt(changes[i]);
      if (!trial || !is_removed(reshard_, explained_, *trial)) continue;
      keep_cheaper(*trial, cheapest_);
      if (!needs_more(trial->figures, explained_.figures)) keep_cheaper(*trial, frugal_);
    }
  }

  // True if a change was found that costs less than the layout, and under which no device needs more.
  bool helps() const { return frugal_ && costs_less(frugal_->figures, explained_.figures); }
  const std::optional<Trial>& cheapest() const { return cheapest_; }
  const std::optional<Trial>& frugal() const { return frugal_; }  // under which no device needs more
  size_t tried() const { return trials_.made(); }

 private:
  static void keep_cheaper(const Trial& trial, std::optional<Trial>& best) {
    if (!best || costs_less(trial.figures, best->figures)) best = trial;
  }

  const ExplainedProgram& explained_;
  const ReshardStep& reshard_;
  LayoutTrials trials_;
  std::optional<Trial> cheapest_, frugal_;
};

}  // namespace

ReshardExplanation explain_reshard(const ExplainedProgram& explained, const ReshardStep& reshard,
                                   const TrialLimits& limits) {
  const ReshardChanges changes(explained, reshard);
  Removals removals(explained, reshard);
  removals.attempt(changes.nearest(), limits.nearest);
  if (!removals.helps()) removals.attempt(changes.further(), limits.further);
  // Propagation decides everything anew, so it is proposed only if an annotation alone does not help.
  if (!removals.helps() && !explained.layout.propagate) {
    std::vector<LayoutChange> propagated = changes.nearest();
    propagated.insert(propagated.begin(), LayoutChange{});
    for (LayoutChange& change : propagated) change.propagates = true;
    removals.attempt(propagated, limits.propagated);
  }
  ReshardExplanation explanation{reshard, {}, explained.figures, {}, {}, {}, removals.tried()};
  explanation.removal = removals.frugal() ? removals.frugal() : removals.cheapest();
  if (!explanation.removal) return explanation;
  const Trial& cheapest = *removals.cheapest();
  if (costs_less(cheapest.figures, explanation.removal->figures) &&
      costs_less(cheapest.figures, explained.figures))
    explanation.cheaper = cheapest;
  explanation.instead = reshards_instead(explained.reshards, explanation.removal->reshards);
  return explanation;
}

ReshardExplanation explain_step(const ExplainedProgram& explained, int64_t step) {
  const IndexedBy<StepIndex, Step>& steps = explained.entry.steps;
  const std::string& entry = explained.entry.name;
  if (step < 0 || step >= static_cast<int64_t>(steps.size()))
    throw UserError(
        fmt::format("{} has no step {}", entry, step),
        steps.empty() ? "it has no steps at all" : fmt::format("its steps are 0 to {}", steps.size() - 1));
  StepIndex at(static_cast<size_t>(step));
  if (const auto* wait = steps[at].as<AwaitCollective>()) at = wait->start;
  std::vector<ReshardStep> moved;
  for (const ReshardStep& reshard : explained.reshards)
    if (reshard.step == at) moved.push_back(reshard);
  if (!moved.empty() && moved.front().others == 0) return explain_reshard(explained, moved.front());
  if (!moved.empty()) {
    moved = largest(std::move(moved), moved.size());
    ReshardExplanation explanation = explain_reshard(explained, moved.front());
    explanation.others.assign(moved.begin() + 1, moved.end());
    return explanation;
  }
  const std::vector<ValueId>& made = steps[at].outputs;
  throw UserError(fmt::format("step {} of {} is not a collective", step, entry),
                  made.empty() ? ""
                               : fmt::format("it makes '{}'; give that name to see why it is split as it is",
                                             tensor_name(explained.entry.values[made.front()])));
}

}  // namespace mtfc
