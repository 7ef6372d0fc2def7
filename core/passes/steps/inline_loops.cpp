#include "core/passes/steps/inline_loops.h"

#include <algorithm>
#include <map>
#include <span>

#include "core/graph/op_registry.h"

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
    const size_t carried = loop.outputs.size() - parts.sums;
    for (size_t i = 0; i < carried; ++i) copy(loop, loop.inputs[i], loop.outputs[i]);
    std::map<std::string, ValueId> leaves;
    for (size_t i = 0; i < loop.inputs.size(); ++i)
      leaves[leaf_name(i)] = i < carried ? loop.outputs[i] : loop.inputs[i];

    for (size_t i = carried; i < loop.outputs.size(); ++i) clear(loop, loop.outputs[i]);

    const int begin = count();
    Step step = control(loop, StepKind::kLoop);
    step.times = parts.times;
    entry_.steps.push_back(step);
    const std::vector<ValueId> holds = append(loop, parts.condition, leaves);
    const int leaves_at = count();
    if (!holds.empty()) {
      entry_.steps.push_back(control(loop, StepKind::kLeave));
      entry_.steps.back().inputs = holds;
    }
    std::vector<ValueId> fresh = append(loop, parts.body, leaves, std::span(loop.outputs).subspan(carried));
    fresh.resize(carried);
    carry_over(loop, std::move(fresh));
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

  // value = 0
  void clear(const Step& loop, ValueId id) {
    const Value made = value(id);
    const ValueId zero =
        add_value({made.name + "@zero", {made.type.dtype, {}}, {{}, {}}, kNoBuffer, false, -1});
    Step step = control(loop, StepKind::kKernel);
    step.op = &op_named("constant");
    step.name = value(zero).name;
    step.attributes = {{"value", 0.0}, {"dtype", made.type.dtype}};
    step.outputs = {zero};
    entry_.steps.push_back(step);
    step.op = &op_named("broadcast");
    step.name = made.name;
    step.attributes = {{"dims", made.type.dims}};
    step.inputs = {zero};
    step.outputs = {id};
    entry_.steps.push_back(std::move(step));
  }

  // sum = sum + value
  void add_to(const Step& loop, ValueId sum, ValueId id) {
    Step step = control(loop, StepKind::kKernel);
    step.op = &op_named("add");
    step.name = value(sum).name;
    step.inputs = {sum, id};
    step.outputs = {sum};
    entry_.steps.push_back(std::move(step));
  }

  // The steps of a part, its inputs replaced by `leaves`; what has become of its outputs. The last of these
  // are added to `sums` as soon as they are made.
  std::vector<ValueId> append(const Step& loop, const PartitionedEntry& part,
                              const std::map<std::string, ValueId>& leaves,
                              std::span<const ValueId> sums = {}) {
    const std::vector<ValueId> now = add_values(part, leaves);
    std::vector<ValueId> results;
    for (const Binding& output : part.entry.outputs)
      results.push_back(now[static_cast<size_t>(output.value)]);
    const size_t carried = results.size() - sums.size();
    const std::vector<std::vector<size_t>> made = last_made(part.entry, carried);
    std::vector<int> place;
    for (size_t s = 0, added = 0; s < part.entry.steps.size(); added += made[s++].size())
      place.push_back(count() + static_cast<int>(s + added));
    for (size_t s = 0; s < part.entry.steps.size(); ++s) {
      Step step = part.entry.steps[s];
      renumber(step, now);
      if (step.started >= 0) step.started = place[static_cast<size_t>(step.started)];
      if (step.partner >= 0) step.partner = place[static_cast<size_t>(step.partner)];
      entry_.steps.push_back(std::move(step));
      for (const size_t i : made[s]) add_to(loop, sums[i - carried], results[i]);
    }
    for (const size_t i : made.back()) add_to(loop, sums[i - carried], results[i]);
    return results;
  }

  // For every step the outputs, from the one at `first` on, that are complete after it; at the end those that
  // no step makes, or several.
  static std::vector<std::vector<size_t>> last_made(const EntryPoint& part, size_t first) {
    std::map<ValueId, std::vector<size_t>> makers;
    for (size_t s = 0; s < part.steps.size(); ++s)
      if (part.steps[s].kind != StepKind::kStart)
        for (const ValueId id : part.steps[s].outputs) makers[root_of(part, id)].push_back(s);
    std::vector<std::vector<size_t>> made(part.steps.size() + 1);
    for (size_t i = first; i < part.outputs.size(); ++i) {
      const auto found = makers.find(root_of(part, part.outputs[i].value));
      const bool once = found != makers.end() && found->second.size() == 1;
      made[once ? found->second.front() : part.steps.size()].push_back(i);
    }
    return made;
  }

  std::vector<ValueId> add_values(const PartitionedEntry& part,
                                  const std::map<std::string, ValueId>& leaves) {
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
    return now;
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

PartitionedEntry inline_loops(PartitionedEntry partitioned) {
  const std::vector<LoopSteps> loops = std::exchange(partitioned.loops, {});
  if (!loops.empty()) LoopInliner(partitioned, loops).run();
  return partitioned;
}

}  // namespace mtfc
