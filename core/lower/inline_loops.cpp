#include "core/lower/inline_loops.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "core/graph/op_registry.h"
#include "core/program/renumber.h"

namespace mtfc {
namespace {

using Leaves = std::map<std::string, ValueId>;  // by leaf_name: the value that a part of a loop reads

// Lists for every step the outputs, from the one at `first` on, that are complete after it. The last list has
// those that no step makes, and those that several steps make.
std::vector<std::vector<size_t>> completed_outputs(const EntryPoint& part, size_t first) {
  std::map<ValueId, std::vector<size_t>> makers;
  for (size_t s = 0; s < part.steps.size(); ++s)
    if (part.steps[s].kind() != StepKind::kStart)
      for (const ValueId id : part.steps[s].outputs) makers[root_of(part, id)].push_back(s);
  std::vector<std::vector<size_t>> completed(part.steps.size() + 1);
  for (size_t i = first; i < part.outputs.size(); ++i) {
    const auto found = makers.find(root_of(part, part.outputs[i].value));
    const bool once = found != makers.end() && found->second.size() == 1;
    completed[once ? found->second.front() : part.steps.size()].push_back(i);
  }
  return completed;
}

void replace_values(Step& step, const PerValue<ValueId>& now) {
  for (std::vector<ValueId>* values : {&step.inputs, &step.outputs})
    for (ValueId& id : *values) id = now[id];
  if (auto* fused = step.as<RunFused>())
    for (Step& member : fused->members) replace_values(member, now);
}

// A step of the loop that `loop` stands for, without inputs and outputs.
Step new_step(const Step& loop, Action action) {
  Step step;
  step.action = std::move(action);
  step.name = loop.name;
  step.source = loop.source;
  step.phase = loop.phase;
  return step;
}

// Appends steps and values to an entry point. `loop` is always the step that stands for the loop.
class LoopInliner {
 public:
  explicit LoopInliner(PartitionedEntry& partitioned)
      : partitioned_(partitioned), entry_(partitioned.entry) {}

  // The position of the next step.
  StepIndex next() const { return StepIndex(entry_.steps.size()); }

  // The loop: its carried values as they are at first, zeros for its sums, and the steps of a round.
  void append_loop(const Step& loop, const LoopSteps& parts) {
    const size_t carried = loop.outputs.size() - parts.sums;
    for (size_t i = 0; i < carried; ++i) copy(loop, loop.inputs[i], loop.outputs[i]);
    Leaves leaves;
    for (size_t i = 0; i < loop.inputs.size(); ++i)
      leaves[leaf_name(i)] = i < carried ? loop.outputs[i] : loop.inputs[i];
    for (size_t i = carried; i < loop.outputs.size(); ++i) clear(loop, loop.outputs[i]);

    const StepIndex begin = entry_.steps.add(new_step(loop, BeginLoop{{}, parts.times}));
    const std::vector<ValueId> holds = append_part(loop, parts.condition, leaves);
    StepIndex leave;
    if (!holds.empty()) {
      leave = entry_.steps.add(new_step(loop, LeaveLoop{}));
      entry_.steps[leave].inputs = holds;
    }
    std::vector<ValueId> fresh =
        append_part(loop, parts.body, leaves, std::span(loop.outputs).subspan(carried));
    fresh.resize(carried);
    carry_over(loop, std::move(fresh));
    const StepIndex end = entry_.steps.add(new_step(loop, RepeatLoop{begin}));
    entry_.steps[begin].as<BeginLoop>()->end = end;
    if (leave != StepIndex()) entry_.steps[leave].as<LeaveLoop>()->end = end;
  }

 private:
  // Stores the new values of the carried tensors. A new value that is the old one of another carried tensor
  // is set aside before that one changes.
  void carry_over(const Step& loop, std::vector<ValueId> fresh) {
    for (size_t i = 0; i < fresh.size(); ++i) {
      const ValueId root = root_of(entry_, fresh[i]);
      const auto old = std::find(loop.outputs.begin(), loop.outputs.end(), root);
      if (old == loop.outputs.end() || root == loop.outputs[i]) continue;
      Value aside = value(fresh[i]);
      aside.name += "@copy";
      aside.from_model = false;
      aside.alias_of = kNoValue;
      const ValueId to = add_value(std::move(aside));
      copy(loop, fresh[i], to);
      fresh[i] = to;
    }
    for (size_t i = 0; i < fresh.size(); ++i)
      if (root_of(entry_, fresh[i]) != loop.outputs[i]) copy(loop, fresh[i], loop.outputs[i]);
  }

  Value& value(ValueId id) { return entry_.values[id]; }

  ValueId add_value(Value value) {
    partitioned_.variable_of.push_back(-1);
    return entry_.values.add(std::move(value));
  }

  // to = from
  void copy(const Step& loop, ValueId from, ValueId to) {
    Step step = new_step(loop, RunKernel{&op_named("identity")});
    step.name = value(to).name;
    step.inputs = {from};
    step.outputs = {to};
    entry_.steps.push_back(std::move(step));
  }

  // value = 0
  void clear(const Step& loop, ValueId id) {
    const Value made = value(id);
    // It is no form of the sum, so its name has no '@'.
    const std::string name = tensor_name(made) + "/zero";
    const ValueId zero = add_value({name, {made.type.dtype, {}}, {{}, {}}, kNoBuffer, false, kNoValue});
    const Attributes attributes = {{"value", 0.0}, {"dtype", made.type.dtype}};
    Step step = new_step(loop, RunKernel{&op_named("constant"), attributes});
    step.name = value(zero).name;
    step.outputs = {zero};
    entry_.steps.push_back(step);
    step.action = RunKernel{&op_named("broadcast"), {{"dims", made.type.dims}}};
    step.name = made.name;
    step.inputs = {zero};
    step.outputs = {id};
    entry_.steps.push_back(std::move(step));
  }

  // sum = sum + value
  void add_to(const Step& loop, ValueId sum, ValueId id) {
    Step step = new_step(loop, RunKernel{&op_named("add")});
    step.name = value(sum).name;
    step.inputs = {sum, id};
    step.outputs = {sum};
    entry_.steps.push_back(std::move(step));
  }

  // Appends the steps of a part of the loop, and gives the values that its outputs have become. The last of
  // these are added to `sums`, each as soon as it is made.
  std::vector<ValueId> append_part(const Step& loop, const PartitionedEntry& part, const Leaves& leaves,
                                   std::span<const ValueId> sums = {}) {
    const PerValue<ValueId> now = add_values(part, leaves);
    std::vector<ValueId> results;
    for (const Binding& output : part.entry.outputs) results.push_back(now[output.value]);
    const size_t carried = results.size() - sums.size();
    const std::vector<std::vector<size_t>> completed = completed_outputs(part.entry, carried);
    const size_t steps = part.entry.steps.size();
    PerStep<StepIndex> positions;
    for (size_t s = 0, added = 0; s < steps; added += completed[s++].size())
      positions.push_back(StepIndex(next().index() + s + added));
    for (size_t s = 0; s < steps; ++s) {
      Step step = part.entry.steps[s];
      replace_values(step, now);
      renumber(step, positions);
      entry_.steps.push_back(std::move(step));
      for (const size_t i : completed[s]) add_to(loop, sums[i - carried], results[i]);
    }
    for (const size_t i : completed.back()) add_to(loop, sums[i - carried], results[i]);
    return results;
  }

  // Copies the values of a part, except for its inputs. Gives per value of the part the one that stands for
  // it.
  PerValue<ValueId> add_values(const PartitionedEntry& part, const Leaves& leaves) {
    PerValue<ValueId> now(part.entry.values.size());
    for (const Binding& input : part.entry.inputs) now[input.value] = leaves.at(input.name);
    for (const ValueId id : now.ids()) {
      if (now[id] != kNoValue) continue;
      Value copied = part.entry.values[id];
      copied.from_model = false;
      if (copied.alias_of != kNoValue) copied.alias_of = now[copied.alias_of];
      now[id] = add_value(std::move(copied));
    }
    return now;
  }

  PartitionedEntry& partitioned_;
  EntryPoint& entry_;
};

}  // namespace

PartitionedEntry inline_loops(PartitionedEntry partitioned) {
  const Loops loops = std::exchange(partitioned.loops, {});
  if (loops.empty()) return partitioned;
  const PerStep<Step> steps = std::exchange(partitioned.entry.steps, {});
  LoopInliner inliner(partitioned);
  PerStep<StepIndex> positions;
  for (const Step& step : steps) {
    if (const auto* loop = step.as<RunLoop>()) {
      inliner.append_loop(step, loops[loop->loop]);
      positions.push_back(StepIndex());  // no step refers to it
      continue;
    }
    positions.push_back(partitioned.entry.steps.add(step));
    renumber(partitioned.entry.steps.back(), positions);
  }
  return partitioned;
}

}  // namespace mtfc
