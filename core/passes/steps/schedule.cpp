#include "core/passes/steps/schedule.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace mtfc {
namespace {

class Scheduler {
 public:
  Scheduler(PartitionedEntry& partitioned, const Mesh& mesh)
      : partitioned_(partitioned),
        mesh_(mesh),
        steps_(std::move(partitioned.entry.steps)),
        place_(steps_.size(), -1) {
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s].kind == StepKind::kStart) continue;
      for (const ValueId id : steps_[s].outputs) maker_[root(id)] = static_cast<int>(s);
    }
    for (size_t s = 0; s < steps_.size(); ++s)
      if (steps_[s].kind == StepKind::kStart)
        starts_after_[last_maker(steps_[s])].push_back(static_cast<int>(s));
    find_unread();
  }

  void run() {
    emit_starts(-1);
    for (size_t s = 0; s < steps_.size(); ++s)
      if (steps_[s].kind != StepKind::kStart && steps_[s].kind != StepKind::kWait) emit(static_cast<int>(s));
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

  // Collectives whose results no step reads, such as the gathered new value of a variable.
  void find_unread() {
    std::set<ValueId> read;
    for (const Step& step : steps_)
      for (const ValueId id : step.inputs) read.insert(root(id));
    for (size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      if (step.kind != StepKind::kWait || step.collective == CollectiveKind::kAllReduce) continue;
      if (read.count(root(step.outputs[0])) > 0) continue;
      unread_[step.started] = static_cast<int>(s);
      largest_ = std::max(largest_, bytes_of(step));
    }
  }

  int64_t bytes_of(const Step& step) const {
    const Value& value = partitioned_.entry.values[static_cast<size_t>(step.outputs[0])];
    return elements(largest_dims(value.type.dims, value.sharding, mesh_)) * size_of(value.type.dtype);
  }

  // What nothing reads can be awaited last, but until then it holds a workspace: of these collectives no more
  // are under way than twice the bytes of the largest.
  void make_room(int s) {
    const auto unread = unread_.find(s);
    if (unread == unread_.end()) return;
    const int64_t bytes = bytes_of(steps_[static_cast<size_t>(s)]);
    while (!under_way_.empty() && bytes_under_way_ + bytes > 2 * largest_) {
      const int wait = under_way_.front();
      under_way_.pop_front();
      bytes_under_way_ -= bytes_of(steps_[static_cast<size_t>(wait)]);
      emit(wait);
    }
    under_way_.push_back(unread->second);
    bytes_under_way_ += bytes;
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
    if (step.kind == StepKind::kStart) make_room(s);
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
  const Mesh& mesh_;
  std::vector<Step> steps_;
  std::vector<int> place_;  // new index of each step, -1 while it has none
  std::map<ValueId, int> maker_;
  std::map<int, std::vector<int>> starts_after_;
  std::map<int, int> unread_;  // from the start of a collective to its wait
  int64_t largest_ = 0;        // bytes of the largest of them
  std::deque<int> under_way_;  // waits of those that have been started, oldest first
  int64_t bytes_under_way_ = 0;
};

}  // namespace

PartitionedEntry schedule(PartitionedEntry partitioned, const Mesh& mesh) {
  Scheduler(partitioned, mesh).run();
  return partitioned;
}

}  // namespace mtfc
