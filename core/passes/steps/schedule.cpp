#include "core/passes/steps/schedule.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "core/program/renumber.h"

namespace mtfc {
namespace {

int64_t result_bytes(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  const Value& value = entry.values[step.outputs[0]];
  return elements(largest_dims(value.type.dims, value.sharding, mesh)) * size_of(value.type.dtype);
}

// A collective with a result that no step reads, such as the gathered new value of a variable.
struct UnreadCollective {
  StepIndex wait;
  int64_t bytes = 0;  // of its result
};

struct Dependencies {
  std::map<ValueId, StepIndex> makers;  // of roots: the step that makes each, for collectives the wait
  // By step: the starts whose last operand it makes. The leaves make those of StepIndex().
  std::map<StepIndex, std::vector<StepIndex>> starts_after;
  std::map<StepIndex, UnreadCollective> unread;  // by start

  // The step that makes a value; StepIndex() for a leaf.
  StepIndex maker(const EntryPoint& entry, ValueId id) const {
    const auto at = makers.find(root_of(entry, id));
    return at == makers.end() ? StepIndex() : at->second;
  }
};

std::map<StepIndex, UnreadCollective> unread_collectives(const EntryPoint& entry, const Mesh& mesh) {
  std::set<ValueId> read;
  for (const Step& step : entry.steps)
    for (const ValueId id : step.inputs) read.insert(root_of(entry, id));
  std::map<StepIndex, UnreadCollective> unread;
  for (const StepIndex s : entry.steps.ids()) {
    const Step& step = entry.steps[s];
    const auto* wait = step.as<AwaitCollective>();
    if (!wait || works_in_place(wait->collective.kind)) continue;
    if (read.count(root_of(entry, step.outputs[0])) > 0) continue;
    unread[wait->start] = {s, result_bytes(entry, step, mesh)};
  }
  return unread;
}

Dependencies find_dependencies(const EntryPoint& entry, const Mesh& mesh) {
  Dependencies found;
  for (const StepIndex s : entry.steps.ids()) {
    if (entry.steps[s].kind() == StepKind::kStart) continue;
    for (const ValueId id : entry.steps[s].outputs) found.makers[root_of(entry, id)] = s;
  }
  for (const StepIndex s : entry.steps.ids()) {
    if (entry.steps[s].kind() != StepKind::kStart) continue;
    StepIndex last_maker;
    for (const ValueId id : entry.steps[s].inputs) last_maker = std::max(last_maker, found.maker(entry, id));
    found.starts_after[last_maker].push_back(s);
  }
  found.unread = unread_collectives(entry, mesh);
  return found;
}

// The new order of the steps, while it grows. Every step is put after those that it depends on.
class StepOrder {
 public:
  StepOrder(const EntryPoint& entry, const Dependencies& dependencies)
      : entry_(entry), dependencies_(dependencies), positions_(entry.steps.size()) {
    for (const auto& [start, unread] : dependencies.unread)
      most_under_way_ = std::max(most_under_way_, 2 * unread.bytes);
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
    position = StepIndex(order_.size());
    order_.push_back(s);
    if (step.kind() != StepKind::kStart) add_starts(s);
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
  // A collective whose result no step reads can be awaited last, but holds a workspace until then. The oldest
  // of them are awaited before the next one starts, so that those under way never have more than twice the
  // bytes of the largest one.
  void make_room(StepIndex start) {
    const auto unread = dependencies_.unread.find(start);
    if (unread == dependencies_.unread.end()) return;
    const UnreadCollective& collective = unread->second;
    while (!under_way_.empty() && bytes_under_way_ + collective.bytes > most_under_way_) {
      const UnreadCollective oldest = under_way_.front();
      under_way_.pop_front();
      bytes_under_way_ -= oldest.bytes;
      add(oldest.wait);
    }
    under_way_.push_back(collective);
    bytes_under_way_ += collective.bytes;
  }

  const EntryPoint& entry_;
  const Dependencies& dependencies_;
  PerStep<StepIndex> positions_;  // the new position of each step, nothing while it has none
  std::vector<StepIndex> order_;
  std::deque<UnreadCollective> under_way_;  // oldest first
  int64_t bytes_under_way_ = 0;
  int64_t most_under_way_ = 0;
};

}  // namespace

PartitionedEntry schedule(PartitionedEntry partitioned, const Mesh& mesh) {
  const EntryPoint& entry = partitioned.entry;
  const Dependencies dependencies = find_dependencies(entry, mesh);
  StepOrder order(entry, dependencies);
  order.add_starts(StepIndex());
  for (const StepIndex s : entry.steps.ids())
    if (!entry.steps[s].as<StartCollective>() && !entry.steps[s].as<AwaitCollective>()) order.add(s);
  for (const StepIndex s : entry.steps.ids())
    if (entry.steps[s].as<AwaitCollective>()) order.add(s);
  partitioned.entry.steps = order.steps();
  return partitioned;
}

}  // namespace mtfc
