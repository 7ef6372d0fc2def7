#include "core/passes/inline_loops.h"

#include <algorithm>
#include <map>

#include "core/op_registry.h"

namespace mtfc {
namespace {

class LoopInliner {
 public:
  LoopInliner(PartitionedEntry& partitioned, const std::vector<LoopSteps>& loops)
      : partitioned_(partitioned), entry_(partitioned.entry), loops_(loops) {}

  void run() {
    const std::vector<Step> steps = std::move(entry_.steps);
    entry_.steps.clear();
    std::vector<int> place;
    for (Step step : steps) {
      if (step.kind == StepKind::kLoop) {
        unroll_once(step, loops_[static_cast<size_t>(step.partner)]);
        place.push_back(-1);
        continue;
      }
      if (step.kind == StepKind::kWait) step.started = place[static_cast<size_t>(step.started)];
      place.push_back(count());
      entry_.steps.push_back(std::move(step));
    }
  }

 private:
  int count() const { return static_cast<int>(entry_.steps.size()); }

  void unroll_once(const Step& loop, const LoopSteps& parts) {
    const size_t carried = loop.outputs.size();
    for (size_t i = 0; i < carried; ++i) copy(loop, loop.inputs[i], loop.outputs[i]);
    std::map<std::string, ValueId> leaves;
    for (size_t i = 0; i < loop.inputs.size(); ++i)
      leaves[leaf_name(i)] = i < carried ? loop.outputs[i] : loop.inputs[i];

    const int begin = count();
    Step step = control(loop, StepKind::kLoop);
    step.times = parts.times;
    entry_.steps.push_back(step);
    const std::vector<ValueId> holds = append(parts.condition, leaves);
    const int leaves_at = count();
    if (!holds.empty()) {
      entry_.steps.push_back(control(loop, StepKind::kLeave));
      entry_.steps.back().inputs = holds;
    }
    carry_over(loop, append(parts.body, leaves));
    entry_.steps.push_back(control(loop, StepKind::kRepeat));
    entry_.steps.back().partner = begin;
    entry_.steps[static_cast<size_t>(begin)].partner = count() - 1;
    if (!holds.empty()) entry_.steps[static_cast<size_t>(leaves_at)].partner = count() - 1;
  }

  // New values of the carried tensors. Those that are an old value of another one are set aside first.
  void carry_over(const Step& loop, std::vector<ValueId> fresh) {
    for (size_t i = 0; i < fresh.size(); ++i) {
      const ValueId root = root_of(entry_, fresh[i]);
      const auto old = std::find(loop.outputs.begin(), loop.outputs.end(), root);
      if (old == loop.outputs.end() || root == loop.outputs[i]) continue;
      Value aside = value(fresh[i]);
      aside.name += "@copy";
      aside.from_model = false;
      aside.alias_of = -1;
      const ValueId to = add_value(std::move(aside));
      copy(loop, fresh[i], to);
      fresh[i] = to;
    }
    for (size_t i = 0; i < fresh.size(); ++i)
      if (root_of(entry_, fresh[i]) != loop.outputs[i]) copy(loop, fresh[i], loop.outputs[i]);
  }

  Value& value(ValueId id) { return entry_.values[static_cast<size_t>(id)]; }

  ValueId add_value(Value value) {
    entry_.values.push_back(std::move(value));
    partitioned_.variable_of.push_back(-1);
    return static_cast<ValueId>(entry_.values.size()) - 1;
  }

  static Step control(const Step& loop, StepKind kind) {
    Step step;
    step.kind = kind;
    step.name = loop.name;
    step.source = loop.source;
    step.phase = loop.phase;
    return step;
  }

  void copy(const Step& loop, ValueId from, ValueId to) {
    Step step = control(loop, StepKind::kKernel);
    step.op = &op_named("identity");
    step.name = value(to).name;
    step.inputs = {from};
    step.outputs = {to};
    entry_.steps.push_back(std::move(step));
  }

  // The steps of a part, its inputs replaced by `leaves`; what has become of its outputs.
  std::vector<ValueId> append(const PartitionedEntry& part, const std::map<std::string, ValueId>& leaves) {
    std::vector<ValueId> now(part.entry.values.size(), -1);
    for (const Binding& input : part.entry.inputs)
      now[static_cast<size_t>(input.value)] = leaves.at(input.name);
    for (size_t v = 0; v < now.size(); ++v) {
      if (now[v] >= 0) continue;
      Value copied = part.entry.values[v];
      copied.from_model = false;
      if (copied.alias_of >= 0) copied.alias_of = now[static_cast<size_t>(copied.alias_of)];
      now[v] = add_value(std::move(copied));
    }
    const int first = count();
    for (Step step : part.entry.steps) {
      renumber(step, now);
      if (step.started >= 0) step.started += first;
      if (step.partner >= 0) step.partner += first;
      entry_.steps.push_back(std::move(step));
    }
    std::vector<ValueId> results;
    for (const Binding& output : part.entry.outputs)
      results.push_back(now[static_cast<size_t>(output.value)]);
    return results;
  }

  static void renumber(Step& step, const std::vector<ValueId>& now) {
    for (std::vector<ValueId>* values : {&step.inputs, &step.outputs})
      for (ValueId& id : *values) id = now[static_cast<size_t>(id)];
    for (Step& part : step.parts) renumber(part, now);
  }

  PartitionedEntry& partitioned_;
  EntryPoint& entry_;
  const std::vector<LoopSteps>& loops_;
};

}  // namespace

PartitionedEntry inline_loops(PartitionedEntry partitioned, const std::vector<LoopSteps>& loops) {
  if (!loops.empty()) LoopInliner(partitioned, loops).run();
  return partitioned;
}

}  // namespace mtfc
