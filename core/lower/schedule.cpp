#include "core/lower/schedule.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "core/graph/op_registry.h"
#include "core/program/renumber.h"

namespace mtfc {
namespace {

// A collective whose operand and result are in memory together while it is under way.
struct TimedCollective {
  StepIndex start, wait;
  int64_t bytes = 0;        // of the larger of both
  bool is_of_kept = false;  // the backward pass moves what the forward pass has made
};

struct Dependencies {
  std::map<ValueId, StepIndex> makers;  // of roots: the step that makes each, for collectives the wait
  std::map<StepIndex, std::vector<StepIndex>>
      starts_after;  // by step: the starts whose last operand it makes
  // The collectives that could start at once, perhaps after a step that could, or as soon as the backward pass
  // begins, in the order of the steps.
  std::vector<TimedCollective> of_leaves;
  std::map<StepIndex, TimedCollective> others;  // by start

  // The step that makes a value; StepIndex() for a leaf.
  StepIndex maker(const EntryPoint& entry, ValueId id) const {
    const auto at = makers.find(root_of(entry, id));
    return at == makers.end() ? StepIndex() : at->second;
  }
};

bool is_cast(const Step& step) {
  return step.kind() == StepKind::kSlice || step.op() == &op_named("cast") ||
         (!step.members().empty() && std::all_of(step.members().begin(), step.members().end(), is_cast));
}

// True for a step that can run at any time at little cost, such as the cast of a variable.
bool casts_leaves(const EntryPoint& entry, const Dependencies& known, StepIndex s) {
  const Step& step = entry.steps[s];
  return is_cast(step) && std::all_of(step.inputs.begin(), step.inputs.end(),
                                      [&](ValueId id) { return known.maker(entry, id) == StepIndex(); });
}

Dependencies find_dependencies(const EntryPoint& entry, const Mesh& mesh) {
  Dependencies found;
  for (const StepIndex s : entry.steps.ids()) {
    if (entry.steps[s].kind() == StepKind::kStart) continue;
    for (const ValueId id : entry.steps[s].outputs) found.makers[root_of(entry, id)] = s;
  }
  for (const StepIndex s : entry.steps.ids()) {
    const auto* wait = entry.steps[s].as<AwaitCollective>();
    if (!wait) continue;
    const Step& start = entry.steps[wait->start];
    TimedCollective collective{wait->start, s, largest_bytes(entry, entry.steps[s].outputs[0], mesh)};
    StepIndex last_maker;
    bool is_of_leaves = true;
    for (const ValueId id : start.inputs) {
      const StepIndex made = found.maker(entry, id);
      last_maker = std::max(last_maker, made);
      is_of_leaves = is_of_leaves && (made == StepIndex() || casts_leaves(entry, found, made));
      collective.bytes = std::max(collective.bytes, largest_bytes(entry, id, mesh));
    }
    collective.is_of_kept =
        !is_of_leaves && start.phase == Phase::kBackward && entry.steps[last_maker].phase == Phase::kForward;
    is_of_leaves = is_of_leaves || collective.is_of_kept;
    if (is_of_leaves)
      found.of_leaves.push_back(collective);
    else
      found.starts_after[last_maker].push_back(wait->start);
    if (!is_of_leaves && !works_in_place(wait->collective.kind))
      found.others.emplace(wait->start, collective);
  }
  return found;
}

// The steps of updates, and those that only these need and that read nothing but a reduced value, such as the cast of a
// gradient. If they ran as soon as they could, they would wait for the reduction.
PerStep<bool> find_updates(const EntryPoint& entry, const Dependencies& dependencies) {
  PerStep<bool> is_update(entry.steps.size(), false), needed_before = is_update, needed_by_update = is_update;
  for (size_t i = entry.steps.size(); i-- > 0;) {
    const StepIndex s(i);
    const Step& step = entry.steps[s];
    std::vector<StepIndex> makers;
    for (const ValueId id : step.inputs)
      if (const StepIndex made = dependencies.maker(entry, id); made != StepIndex()) makers.push_back(made);
    const bool computes = step.kind() == StepKind::kKernel || step.kind() == StepKind::kFused;
    const auto* wait = makers.empty() ? nullptr : entry.steps[makers[0]].as<AwaitCollective>();
    const bool reads_reduced = step.inputs.size() == 1 && wait && reduces(wait->collective.kind);
    is_update[s] = step.phase == Phase::kUpdate ||
                   (computes && reads_reduced && needed_by_update[s] && !needed_before[s]);
    for (const StepIndex made : makers) (is_update[s] ? needed_by_update : needed_before)[made] = true;
  }
  return is_update;
}

// The step that makes the new value of a variable, before collectives bring it into the variable's sharding.
struct Update {
  StepIndex step;
  int64_t bytes = 0;  // of its result, which are those of the gradient
  // Steps of other updates that read the old value. They come first, so that the new value can take its place.
  std::vector<StepIndex> readers = {};
};

// The updates that can run before all steps of the other phases have run.
class EarlyUpdates {
 public:
  EarlyUpdates(const PartitionedEntry& partitioned, const Dependencies& dependencies,
               const PerStep<bool>& is_update, const Mesh& mesh)
      : entry_(partitioned.entry), dependencies_(dependencies), is_update_(is_update) {
    std::map<ValueId, std::vector<StepIndex>> readers;
    for (const StepIndex s : entry_.steps.ids()) {
      for (const ValueId id : entry_.steps[s].inputs) readers[root_of(entry_, id)].push_back(s);
      if (!belongs_to_update(s)) last_ = s;
    }
    std::set<StepIndex> known;
    for (const auto& [variable, fresh] : partitioned.assignments) {
      Update update{maker_of(fresh)};
      if (update.step == StepIndex() || !known.insert(update.step).second) continue;
      update.bytes = largest_bytes(entry_, entry_.steps[update.step].outputs[0], mesh);
      if (update.bytes >= kSmallest) add(std::move(update), readers[root_of(entry_, variable)]);
    }
  }

  // Returns the updates that can run once `step` has run, but not before. `step` belongs to no update.
  std::vector<Update> after(StepIndex step) const {
    const auto at = ready_after_.find(step);
    return at == ready_after_.end() ? std::vector<Update>() : at->second;
  }

 private:
  // Smaller gradients take little memory, and their all_reduces are combined if all are awaited at the end.
  static constexpr int64_t kSmallest = int64_t{1} << 20;

  bool belongs_to_update(StepIndex s) const {
    const Step& step = entry_.steps[s];
    return is_update_[s] || step.as<StartCollective>() || step.as<AwaitCollective>();
  }

  StepIndex maker_of(ValueId id) const {
    StepIndex s = dependencies_.maker(entry_, id);
    while (s != StepIndex() && entry_.steps[s].as<AwaitCollective>())
      s = dependencies_.maker(entry_, entry_.steps[s].inputs[0]);
    return s != StepIndex() && is_update_[s] ? s : StepIndex();
  }

  void add(Update update, const std::vector<StepIndex>& readers) {
    StepIndex last = last_needed(update.step);
    for (const StepIndex reader : readers) {
      if (reader == update.step) continue;
      last = std::max(last, last_needed(reader));
      if (is_update_[reader]) update.readers.push_back(reader);
    }
    if (last != StepIndex() && last != last_) ready_after_[last].push_back(std::move(update));
  }

  // The last step of no update that has to run before `s` can, or is `s`.
  StepIndex last_needed(StepIndex s) {
    if (!belongs_to_update(s)) return s;
    if (const auto at = last_needed_.find(s); at != last_needed_.end()) return at->second;
    StepIndex last;
    if (const auto* wait = entry_.steps[s].as<AwaitCollective>()) last = last_needed(wait->start);
    for (const ValueId id : entry_.steps[s].inputs)
      if (const StepIndex made = dependencies_.maker(entry_, id); made != StepIndex())
        last = std::max(last, last_needed(made));
    last_needed_.emplace(s, last);
    return last;
  }

  const EntryPoint& entry_;
  const Dependencies& dependencies_;
  const PerStep<bool>& is_update_;
  StepIndex last_;
  std::map<StepIndex, StepIndex> last_needed_;
  std::map<StepIndex, std::vector<Update>> ready_after_;
};

// The new order of the steps, while it grows. Every step is put after those that it depends on.
class StepOrder {
 public:
  // `starts_ahead`: whether collectives of leaves start before they are needed.
  StepOrder(const EntryPoint& entry, const Dependencies& dependencies, bool starts_ahead)
      : entry_(entry), dependencies_(dependencies), positions_(entry.steps.size()) {
    for (const auto& [start, collective] : dependencies.others)
      most_under_way_ = std::max(most_under_way_, 2 * collective.bytes);
    if (!starts_ahead) {
      next_leaf_ = dependencies.of_leaves.size();
      return;
    }
    for (const TimedCollective& collective : dependencies.of_leaves) {
      most_ahead_ = std::max(most_ahead_, collective.bytes);
      change_ahead_.emplace(collective.start, collective.bytes);
      change_ahead_.emplace(collective.wait, -collective.bytes);
    }
  }

  // Starts the next collectives of leaves, as far as there is room for their results, and in the backward pass those of
  // what the forward pass has kept.
  void start_ahead() {
    for (; next_leaf_ < dependencies_.of_leaves.size(); ++next_leaf_) {
      const TimedCollective& next = dependencies_.of_leaves[next_leaf_];
      const bool must_wait = bytes_ahead_ + next.bytes > most_ahead_ || (next.is_of_kept && !is_backward_);
      if (positions_[next.start] == StepIndex() && must_wait) return;
      add(next.start);
    }
  }

  void add_starts(StepIndex after) {
    const auto at = dependencies_.starts_after.find(after);
    if (at == dependencies_.starts_after.end()) return;
    for (const StepIndex s : at->second) add(s);
  }

  // Adds the step unless it is there already: first what it depends on, and after it the collectives that
  // can start now.
  void add(StepIndex s) {
    StepIndex& position = positions_[s];
    if (position != StepIndex()) return;
    const Step& step = entry_.steps[s];
    if (const auto* wait = step.as<AwaitCollective>()) {
      add(wait->start);
    } else {
      for (const ValueId id : step.inputs)
        if (const StepIndex made = dependencies_.maker(entry_, id); made != StepIndex()) add(made);
    }
    if (position != StepIndex())
      return;  // a start that was added right after the step that makes its operand
    if (step.kind() == StepKind::kStart) make_room(s);
    if (position != StepIndex()) return;
    position = StepIndex(order_.size());
    order_.push_back(s);
    const auto change = change_ahead_.find(s);
    if (change != change_ahead_.end()) bytes_ahead_ += change->second;
    if (step.kind() == StepKind::kStart) return;
    forget(s);
    add_starts(s);
    const bool begins_backward =
        !is_backward_ && step.phase == Phase::kBackward && step.kind() != StepKind::kWait;
    is_backward_ = is_backward_ || begins_backward;
    if (change != change_ahead_.end() || begins_backward) start_ahead();
  }

  // Keeps updates that can run until their gradients take more than twice the memory of the largest of them, so that
  // their collectives have time to end, and then adds the oldest.
  void add_early(const std::vector<Update>& ready) {
    for (const Update& update : ready) {
      kept_.push_back(update);
      bytes_kept_ += update.bytes;
    }
    while (bytes_kept_ > 2 * largest_kept()) {
      const Update update = kept_.front();
      kept_.pop_front();
      bytes_kept_ -= update.bytes;
      for (const StepIndex reader : update.readers) add(reader);
      add(update.step);
    }
  }

  // Adds the updates. The collectives of the gradients, which have started by now, end about in the order in which they
  // have started, so that an update that needs an earlier one need not wait for those that are still under way. Steps
  // that need none, such as slices of variables, stay with the update that uses them, and hold no memory until then.
  void add_updates(const std::vector<StepIndex>& updates) {
    std::map<StepIndex, StepIndex> known;
    std::vector<std::pair<StepIndex, StepIndex>> by_last_start;
    for (const StepIndex s : updates)
      if (const StepIndex last = last_start(s, known); last != StepIndex())
        by_last_start.emplace_back(last, s);
    std::sort(by_last_start.begin(), by_last_start.end());
    for (const auto& [last, s] : by_last_start) add(s);
    for (const StepIndex s : updates) add(s);
  }

  // The steps in the new order, which refer to each other by their new positions.
  PerStep<Step> steps() const {
    PerStep<Step> steps;
    for (const StepIndex s : order_) {
      steps.push_back(entry_.steps[s]);
      renumber(steps.back(), positions_);
    }
    return steps;
  }

 private:
  int64_t largest_kept() const {
    int64_t largest = 0;
    for (const Update& update : kept_) largest = std::max(largest, update.bytes);
    return largest;
  }

  // The position of the last start whose wait is still to be added before `s`; StepIndex() if there is none.
  StepIndex last_start(StepIndex s, std::map<StepIndex, StepIndex>& known) const {
    if (positions_[s] != StepIndex())
      return entry_.steps[s].as<StartCollective>() ? positions_[s] : StepIndex();
    if (const auto at = known.find(s); at != known.end()) return at->second;
    StepIndex last;
    if (const auto* wait = entry_.steps[s].as<AwaitCollective>()) {
      last = last_start(wait->start, known);
    } else {
      for (const ValueId id : entry_.steps[s].inputs)
        if (const StepIndex made = dependencies_.maker(entry_, id); made != StepIndex())
          last = std::max(last, last_start(made, known));
    }
    known.emplace(s, last);
    return last;
  }

  // A collective may be awaited late, as that of a gradient is if the update comes at the end, and holds its operand
  // until then. The oldest ones are awaited before the next one starts, so that those under way never have more than
  // twice the bytes of the largest one.
  void make_room(StepIndex start) {
    const auto at = dependencies_.others.find(start);
    if (at == dependencies_.others.end()) return;
    while (!under_way_.empty() && bytes_under_way_ + at->second.bytes > most_under_way_)
      add(under_way_.front().wait);
    // What waits for one of these results and for that of `start` may have added it by now.
    if (positions_[start] != StepIndex()) return;
    under_way_.push_back(at->second);
    bytes_under_way_ += at->second.bytes;
  }

  void forget(StepIndex wait) {
    const auto at = std::find_if(under_way_.begin(), under_way_.end(),
                                 [&](const TimedCollective& collective) { return collective.wait == wait; });
    if (at == under_way_.end()) return;
    bytes_under_way_ -= at->bytes;
    under_way_.erase(at);
  }

  const EntryPoint& entry_;
  const Dependencies& dependencies_;
  PerStep<StepIndex> positions_;  // the new position of each step, nothing while it has none
  std::vector<StepIndex> order_;
  std::map<StepIndex, int64_t> change_ahead_;  // by start or wait of a collective of leaves
  size_t next_leaf_ = 0;
  bool is_backward_ = false;                  // a step of the backward pass has been added
  int64_t bytes_ahead_ = 0, most_ahead_ = 0;  // of collectives of leaves that are under way
  std::deque<TimedCollective> under_way_;     // oldest first
  int64_t bytes_under_way_ = 0;
  int64_t most_under_way_ = 0;
  std::deque<Update> kept_;  // that can run, oldest first
  int64_t bytes_kept_ = 0;
};

}  // namespace

PartitionedEntry schedule(PartitionedEntry partitioned, const Mesh& mesh) {
  const EntryPoint& entry = partitioned.entry;
  const Dependencies dependencies = find_dependencies(entry, mesh);
  StepOrder order(entry, dependencies, false);
  const PerStep<bool> is_update = find_updates(entry, dependencies);
  const EarlyUpdates early(partitioned, dependencies, is_update, mesh);
  std::vector<StepIndex> updates;
  for (const StepIndex s : entry.steps.ids()) {
    if (entry.steps[s].as<StartCollective>() || entry.steps[s].as<AwaitCollective>()) continue;
    if (is_update[s]) {
      updates.push_back(s);
    } else {
      order.add(s);
      order.add_early(early.after(s));
    }
  }
  order.add_updates(updates);
  for (const StepIndex s : entry.steps.ids())
    if (entry.steps[s].as<AwaitCollective>()) order.add(s);
  partitioned.entry.steps = order.steps();
  return partitioned;
}

PartitionedEntry start_ahead(PartitionedEntry partitioned, const Mesh& mesh) {
  const EntryPoint& entry = partitioned.entry;
  const Dependencies dependencies = find_dependencies(entry, mesh);
  if (dependencies.of_leaves.empty()) return partitioned;
  StepOrder order(entry, dependencies, true);
  order.start_ahead();
  for (const StepIndex s : entry.steps.ids()) order.add(s);
  partitioned.entry.steps = order.steps();
  return partitioned;
}

}  // namespace mtfc
