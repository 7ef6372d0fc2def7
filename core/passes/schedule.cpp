#include "core/passes/schedule.h"

#include <algorithm>
#include <map>

namespace mtfc {
namespace {

class Scheduler {
 public:
  explicit Scheduler(PartitionedEntry& partitioned)
      : partitioned_(partitioned), steps_(std::move(partitioned.entry.steps)), place_(steps_.size(), -1) {
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s].kind == StepKind::kStart) continue;
      for (const ValueId id : steps_[s].outputs) maker_[root(id)] = static_cast<int>(s);
    }
    for (size_t s = 0; s < steps_.size(); ++s)
      if (steps_[s].kind == StepKind::kStart)
        starts_after_[last_maker(steps_[s])].push_back(static_cast<int>(s));
  }

  void run() {
    emit_starts(-1);
    for (size_t s = 0; s < steps_.size(); ++s)
      if (steps_[s].kind != StepKind::kStart && steps_[s].kind != StepKind::kWait)
        emit(static_cast<int>(s));
    for (size_t s = 0; s < steps_.size(); ++s)
      if (steps_[s].kind == StepKind::kWait) emit(static_cast<int>(s));
  }

 private:
  ValueId root(ValueId id) const { return root_of(partitioned_.entry, id); }

  // The step that makes a value, -1 for a leaf.
  int maker(ValueId id) const {
    const auto at = maker_.find(root(id));
    return at == maker_.end() ? -1 : at->second;
  }

  // Where a start has several operands, the last of their steps in the order in which they stand.
  int last_maker(const Step& step) const {
    int last = -1;
    for (const ValueId id : step.inputs) last = std::max(last, maker(id));
    return last;
  }

  void emit(int s) {
    int& place = place_[static_cast<size_t>(s)];
    if (place >= 0) return;
    Step& step = steps_[static_cast<size_t>(s)];
    if (step.kind == StepKind::kWait) {
      emit(step.started);
    } else {
      for (const ValueId id : step.inputs)
        if (const int made = maker(id); made >= 0) emit(made);
    }
    if (place >= 0) return;  // a start that went out right after the step that made its operand
    std::vector<Step>& out = partitioned_.entry.steps;
    place = static_cast<int>(out.size());
    out.push_back(step);
    if (step.kind == StepKind::kWait) out.back().started = place_[static_cast<size_t>(step.started)];
    if (step.kind != StepKind::kStart) emit_starts(s);
  }

  void emit_starts(int after) {
    const auto at = starts_after_.find(after);
    if (at == starts_after_.end()) return;
    for (const int s : at->second) emit(s);
  }

  PartitionedEntry& partitioned_;
  std::vector<Step> steps_;
  std::vector<int> place_;  // new index of each step, -1 while it has none
  std::map<ValueId, int> maker_;
  std::map<int, std::vector<int>> starts_after_;
};

}  // namespace

PartitionedEntry schedule(PartitionedEntry partitioned) {
  Scheduler(partitioned).run();
  return partitioned;
}

}  // namespace mtfc
