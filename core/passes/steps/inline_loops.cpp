#include "core/passes/steps/inline_loops.h"

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
    if (part.steps[s].kind != StepKind::kStart)
      for (const ValueId id : part.steps[s].outputs) makers[root_of(part, id)].push_back(s);
  std::vector<std::vector<size_t>> completed(part.steps.size() + 1);
  for (size_t i = first; i < part.outputs.size(); ++i) {
    const auto found = makers.find(root_of(part, part.outputs[i].value));
    const bool once = found != makers.end() && found->second.size() == 1;
    completed[once ? found->second.front() : part.steps.size()].push_back(i);
  }
  return completed;
}

void replace_values(Step& step, const std::vector<ValueId>& now) {
  for (std::vector<ValueId>* values : {&step.inputs, &step.outputs})
    for (ValueId& id : *values) id = now[static_cast<size_t>(id)];
  for (Step& part : step.parts) replace_values(part, now);
}

// A step of the loop that `loop` stands for, without inputs and outputs.
Step new_step(const Step& loop, StepKind kind) {
  Step step;
  step.kind = kind;
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

  int count() const { return static_cast<int>(entry_.steps.size()); }

  // The loop: its carried values as they are at first, zeros for its sums, and the steps of a round.
  void append_loop(const Step& loop, const LoopSteps& parts) {
    const size_t carried = loop.outputs.size() - parts.sums;
    for (size_t i = 0; i < carried; ++i) copy(loop, loop.inputs[i], loop.outputs[i]);
    Leaves leaves;
    for (size_t i = 0; i < loop.inputs.size(); ++i)
      leaves[leaf_name(i)] = i < carried ? loop.outputs[i] : loop.inputs[i];
    for (size_t i = carried; i < loop.outputs.size(); ++i) clear(loop, loop.outputs[i]);

    std::vector<int> ends = {count()};  // the steps of which the kRepeat is the partner
    entry_.steps.push_back(new_step(loop, StepKind::kLoop));
    entry_.steps.back().times = parts.times;
    const std::vector<ValueId> holds = append_part(loop, parts.condition, leaves);
    if (!holds.empty()) {
      ends.push_back(count());
      entry_.steps.push_back(new_step(loop, StepKind::kLeave));
      entry_.steps.back().inputs = holds;
    }
    std::vector<ValueId> fresh =
        append_part(loop, parts.body, leaves, std::span(loop.outputs).subspan(carried));
    fresh.resize(carried);
    carry_over(loop, std::move(fresh));
    for (const int s : ends) entry_.steps[static_cast<size_t>(s)].partner = count();
    entry_.steps.push_back(new_step(loop, StepKind::kRepeat));
    entry_.steps.back().partner = ends.front();
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

  // to = from
  void copy(const Step& loop, ValueId from, ValueId to) {
    Step step = new_step(loop, StepKind::kKernel);
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
    Step step = new_step(loop, StepKind::kKernel);
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
    Step step = new_step(loop, StepKind::kKernel);
    step.op = &op_named("add");
    step.name = value(sum).name;
    step.inputs = {sum, id};
    step.outputs = {sum};
    entry_.steps.push_back(std::move(step));
  }

  // Appends the steps of a part of the loop, and gives the values that its outputs have become. The last of
  // these are added to `sums`, each as soon as it is made.
  std::vector<ValueId> append_part(const Step& loop, const PartitionedEntry& part, const Leaves& leaves,
                                   std::span<const ValueId> sums = {}) {
    const std::vector<ValueId> now = add_values(part, leaves);
    std::vector<ValueId> results;
    for (const Binding& output : part.entry.outputs)
      results.push_back(now[static_cast<size_t>(output.value)]);
    const size_t carried = results.size() - sums.size();
    const std::vector<std::vector<size_t>> completed = completed_outputs(part.entry, carried);
    const size_t steps = part.entry.steps.size();
    std::vector<int> positions;
    for (size_t s = 0, added = 0; s < steps; added += completed[s++].size())
      positions.push_back(count() + static_cast<int>(s + added));
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
  std::vector<ValueId> add_values(const PartitionedEntry& part, const Leaves& leaves) {
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

  PartitionedEntry& partitioned_;
  EntryPoint& entry_;
};

}  // namespace

PartitionedEntry inline_loops(PartitionedEntry partitioned) {
  const std::vector<LoopSteps> loops = std::exchange(partitioned.loops, {});
  if (loops.empty()) return partitioned;
  const std::vector<Step> steps = std::exchange(partitioned.entry.steps, {});
  LoopInliner inliner(partitioned);
  std::vector<int> positions;
  for (const Step& step : steps) {
    if (step.kind == StepKind::kLoop) {
      inliner.append_loop(step, loops[static_cast<size_t>(step.partner)]);
      positions.push_back(-1);  // no step refers to it
      continue;
    }
    positions.push_back(inliner.count());
    partitioned.entry.steps.push_back(step);
    renumber(partitioned.entry.steps.back(), positions);
  }
  return partitioned;
}

}  // namespace mtfc
