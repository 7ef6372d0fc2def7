#include "core/program/structure_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/op_rules/random_rules.h"
#include "core/program/step_check.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

[[noreturn]] void fail(const std::string& pointer, const std::string& message) {
  throw ProgramFault{pointer, message};
}

void check_size(const Dim& dim, const std::string& pointer) {
  if (dim.size < 1) fail(pointer, fmt::format("the dimension '{}' has the size {}", dim.name, dim.size));
}

void check_dims(const Dims& dims, const std::string& pointer) {
  std::set<std::string> seen;
  for (const Dim& dim : dims) {
    if (!seen.insert(dim.name).second)
      fail(pointer, fmt::format("the dimension '{}' appears twice", dim.name));
    check_size(dim, pointer);
  }
}

// Positions along windowed dimensions are computed in int64_t.
void check_windows(const TensorType& type, const Sharding& sharding, const std::string& pointer) {
  const auto real = [](int64_t number) { return static_cast<double>(number); };
  const std::vector<WindowSplit>& windows = sharding.windows;
  for (size_t i = 0; i < windows.size(); ++i) {
    const WindowSplit& window = windows[i];
    if (window.dim >= type.dims.size() || (i > 0 && windows[i - 1].dim >= window.dim) ||
        sharding.dims[window.dim].empty())
      fail(pointer, "a window splits no dimension of its own");
    const double reach = real(window.size) * real(window.step) + real(window.span) +
                         std::abs(real(window.low)) + real(type.dims[window.dim].size) * real(window.base);
    if (std::min({window.size, window.step, window.span, window.base}) < 1 || reach > 0x1p60)
      fail(pointer, "a window splits a dimension by numbers that no window has");
  }
}

}  // namespace

void StructureCheck::check_tensor(const TensorType& type, const Sharding& sharding,
                                  const std::string& pointer) {
  check_dims(type.dims, pointer);
  double size = static_cast<double>(size_of(type.dtype));
  for (const Dim& dim : type.dims) size *= static_cast<double>(dim.size);
  if (size > 0x1p60) fail(pointer, "the tensor is too large");
  if (sharding.dims.size() != type.dims.size())
    fail(pointer, fmt::format("the sharding has {} dimensions, but the tensor has {}", sharding.dims.size(),
                              type.dims.size()));
  if (uses_axis_twice(sharding)) fail(pointer, "the sharding uses an axis twice");
  for (const Partial& partial : sharding.partial)
    for (const AxisList& axes : sharding.dims)
      if (contains(axes, partial.axis)) fail(pointer, "the sharding uses an axis twice");
  check_windows(type, sharding, pointer);
}

std::string StructureCheck::pointer_of(size_t step) const {
  return fmt::format("{}/steps/{}", at_, step);
}

void StructureCheck::check_value(size_t v) const {
  const Value& value = entry_.values[v];
  const std::string pointer = fmt::format("{}/values/{}", at_, v);
  check_tensor(value.type, value.sharding, pointer);
  for (const AxisList& axes : value.sharding.dims)
    for (const int axis : axes)
      if (axis < 0 || axis >= static_cast<int>(mesh_.axes().size()))
        fail(pointer, "the sharding uses an axis that the mesh lacks");
  if (value.alias_of == kNoValue) return;
  if (value.alias_of.index() >= v) fail(pointer, "'alias_of' must name an earlier value");
  const Value& other = entry_.values[value.alias_of];
  Sharding carried;
  if (value.buffer != other.buffer || !other.sharding.windows.empty() ||
      value.type.dtype != other.type.dtype || elements(value.type.dims) != elements(other.type.dims) ||
      !carries(other.type.dims, other.sharding, value.type.dims, mesh_, carried) || carried != value.sharding)
    fail(pointer, fmt::format("the value does not hold the elements of '{}' on every device", other.name));
}

void StructureCheck::check_references(size_t s) const {
  const Step& step = entry_.steps[s];
  const std::string pointer = pointer_of(s);
  check_named(step, pointer);
  for (size_t p = 0; p < step.members().size(); ++p)
    check_named(step.members()[p], fmt::format("{}/parts/{}", pointer, p));
}

// Every value that is named exists, and so does the workspace.
void StructureCheck::check_named(const Step& step, const std::string& pointer) const {
  for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
    for (const ValueId id : *values)
      if (!entry_.values.has(id)) fail(pointer, fmt::format("there is no value {}", id.number()));
  for (const ValueId id : step.outputs)
    if (entry_.values[id].alias_of != kNoValue)
      fail(pointer, fmt::format("'{}' is another value under other dimensions, which no step makes",
                                entry_.values[id].name));
  if (step.workspace != kNoBuffer && !entry_.buffers.has(step.workspace))
    fail(pointer, fmt::format("there is no buffer {}", step.workspace.number()));
}

// A dimension has one size wherever it stands in an operation: kernels and exchanges count on it.
void StructureCheck::check_sizes(const Step& step, const std::string& pointer,
                                 std::map<std::string, int64_t>& sizes) const {
  const auto check = [&](const Dim& dim) {
    check_size(dim, pointer);
    const int64_t known = sizes.emplace(dim.name, dim.size).first->second;
    if (known != dim.size)
      fail(pointer, fmt::format("the dimension '{}' has {} elements and {}", dim.name, known, dim.size));
  };
  for (const Step& member : step.members()) check_sizes(member, pointer, sizes);
  if (!step.op()) return;
  for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
    for (const ValueId id : *values)
      for (const Dim& dim : entry_.values[id].type.dims) check(dim);
  for (const auto& [name, value] : step.attributes().entries()) {
    if (name == kRandomInterleaved.name) continue;  // of the tensor that this is a part of
    for_each_dim(value, check);
  }
}

void StructureCheck::check_steps(bool has_buffers, const Loops* beside) const {
  for (size_t s = 0; s < entry_.steps.size(); ++s) {
    const Step& step = entry_.steps[s];
    const std::string pointer = pointer_of(s);
    std::map<std::string, int64_t> sizes;
    check_sizes(step, pointer, sizes);
    if (beside && step.as<RunLoop>()) {
      check_loop_beside(step, pointer, *beside);
      continue;
    }
    if (const std::string problem = step_problem(entry_, step, mesh_, has_buffers); !problem.empty())
      fail(pointer, problem);
  }
}

// A loop whose steps stand beside the entry takes and gives what its body takes and gives.
void StructureCheck::check_loop_beside(const Step& step, const std::string& pointer,
                                       const Loops& loops) const {
  const LoopIndex number = step.as<RunLoop>()->loop;
  if (!loops.has(number)) fail(pointer, fmt::format("there is no loop {}", number.number()));
  const LoopSteps& loop = loops[number];
  const std::vector<Binding>& results = loop.body.entry.outputs;
  if (step.outputs.size() != results.size() || loop.sums > results.size())
    fail(pointer, fmt::format("the loop returns {} results, but its body returns {}", step.outputs.size(),
                              results.size()));
  if (loop.condition.entry.outputs.empty() != (loop.times > 0))
    fail(pointer, "a loop has either 'times' or a condition");
  for (size_t i = 0; i < results.size(); ++i) {
    const Value& made = loop.body.entry.values[results[i].value];
    const Value& given = entry_.values[step.outputs[i]];
    if (made.type != given.type || made.sharding != given.sharding)
      fail(pointer,
           fmt::format("'{}' leaves the loop with another type or sharding than in its body", given.name));
  }
}

PerValue<bool> StructureCheck::check_order(const PerValue<bool>& given) const {
  PerValue<bool> there = given;
  const auto need = [&](const std::vector<ValueId>& values, const std::string& pointer) {
    for (const ValueId id : values)
      if (!there[root_of(entry_, id)])
        fail(pointer, fmt::format("'{}' is read before any step has made it", entry_.values[id].name));
  };
  for (size_t s = 0; s < entry_.steps.size(); ++s) {
    const Step& step = entry_.steps[s];
    if (step.kind() != StepKind::kWait) need(step.inputs, pointer_of(s));
    if (step.kind() == StepKind::kStart) continue;
    for (const ValueId id : step.outputs) there[root_of(entry_, id)] = true;
  }
  for (size_t i = 0; i < entry_.outputs.size(); ++i)
    need({entry_.outputs[i].value}, fmt::format("{}/outputs/{}", at_, i));
  return there;
}

// Every start has its wait further down, with the same values.
void StructureCheck::check_pairs() const {
  std::set<StepIndex> waited;
  for (const StepIndex s : entry_.steps.ids()) {
    const Step& step = entry_.steps[s];
    const auto* wait = step.as<AwaitCollective>();
    if (!wait) continue;
    const std::string pointer = pointer_of(s.index());
    const int number = wait->start.number();
    if (wait->start == StepIndex() || wait->start >= s || !entry_.steps[wait->start].as<StartCollective>())
      fail(pointer, fmt::format("step {} starts no collective before this one", number));
    if (!waited.insert(wait->start).second)
      fail(pointer, fmt::format("the collective of step {} is awaited twice", number));
    const Step& start = entry_.steps[wait->start];
    if (step.inputs != start.inputs || step.outputs != start.outputs || step.workspace != start.workspace)
      fail(pointer, fmt::format("the values are not those of step {}, which starts the collective", number));
  }
  for (const StepIndex s : entry_.steps.ids())
    if (entry_.steps[s].as<StartCollective>() && waited.count(s) == 0)
      fail(pointer_of(s.index()), "the collective is never awaited");
}

// Loops lie within each other or apart, and a collective starts and ends in the same round.
void StructureCheck::check_loops() const {
  std::vector<StepIndex> open;
  PerStep<StepIndex> around;  // the innermost loop, or nothing
  for (const StepIndex s : entry_.steps.ids()) {
    const Step& step = entry_.steps[s];
    const std::string pointer = pointer_of(s.index());
    around.push_back(open.empty() ? StepIndex() : open.back());
    if (const auto* wait = step.as<AwaitCollective>(); wait && around[wait->start] != around[s])
      fail(pointer, "the collective was started outside of the loop in which it is awaited");
    if (const auto* loop = step.as<BeginLoop>()) {
      open.push_back(s);
      if (loop->end <= s || !entry_.steps.has(loop->end) || !entry_.steps[loop->end].as<RepeatLoop>())
        fail(pointer, fmt::format("step {} does not end the loop", loop->end.number()));
      continue;
    }
    const auto* leave = step.as<LeaveLoop>();
    const auto* repeat = step.as<RepeatLoop>();
    if (!leave && !repeat) continue;
    if (open.empty()) fail(pointer, "there is no loop around this step");
    const StepIndex end = entry_.steps[open.back()].as<BeginLoop>()->end;
    const StepIndex other = repeat ? repeat->begin : leave->end;
    if (other != (repeat ? open.back() : end) || (repeat != nullptr) != (end == s))
      fail(pointer, fmt::format("step {} is not the other end of the loop", other.number()));
    if (repeat) open.pop_back();
  }
  if (!open.empty()) fail(pointer_of(open.back().index()), "the loop does not end");
  check_ends();
}

// A loop without a condition would never end.
void StructureCheck::check_ends() const {
  std::set<StepIndex> left;
  for (const Step& step : entry_.steps)
    if (const auto* leave = step.as<LeaveLoop>()) left.insert(leave->end);
  for (size_t s = 0; s < entry_.steps.size(); ++s)
    if (const auto* loop = entry_.steps[s].as<BeginLoop>();
        loop && (loop->times > 0) == (left.count(loop->end) > 0))
      fail(pointer_of(s), "a loop has either 'times' or a condition");
}

namespace {

// Variables get values of their own type and sharding that are `there` at the end.
void check_assignments(const PartitionedEntry& partitioned, const PerValue<bool>& there) {
  const EntryPoint& entry = partitioned.entry;
  for (const auto& [variable, fresh] : partitioned.assignments) {
    const Value &to = entry.values.at(variable.index()), &from = entry.values.at(fresh.index());
    const auto refuse = [&, at = fresh](const char* what) {
      fail(fmt::format("/values/{}", at.number()),
           fmt::format("'{}' is assigned to '{}', which {}", from.name, to.name, what));
    };
    if (partitioned.variable_of[variable] < 0) refuse("is no variable");
    if (to.type != from.type || to.sharding != from.sharding) refuse("has another type or sharding");
    if (!there[root_of(entry, fresh)])
      fail(fmt::format("/values/{}", fresh.number()),
           fmt::format("'{}' is assigned to '{}', but no step makes it", from.name, to.name));
  }
}

}  // namespace

std::optional<ProgramFault> find_structure_fault(const PartitionedEntry& partitioned, const Mesh& mesh) {
  const EntryPoint& entry = partitioned.entry;
  const StructureCheck check(entry, mesh, "");
  return fault_of([&] {
    if (partitioned.variable_of.size() != entry.values.size())
      fail("", fmt::format("variables are known for {} values, but there are {}",
                           partitioned.variable_of.size(), entry.values.size()));
    for (size_t v = 0; v < entry.values.size(); ++v) check.check_value(v);
    for (size_t s = 0; s < entry.steps.size(); ++s) check.check_references(s);
    check.check_pairs();
    if (partitioned.loops.empty()) check.check_loops();
    check.check_steps(false, partitioned.loops.empty() ? nullptr : &partitioned.loops);
    PerValue<bool> given(entry.values.size());
    for (size_t v = 0; v < given.size(); ++v) given[v] = partitioned.variable_of[v] >= 0;
    for (const Binding& input : entry.inputs) given.at(input.value.index()) = true;
    const PerValue<bool> there = check.check_order(given);
    for (size_t i = 0; i + partitioned.sums < entry.outputs.size(); ++i) {
      const Value& output = entry.values[entry.outputs[i].value];
      if (!output.sharding.partial.empty())
        fail(fmt::format("/outputs/{}", i), fmt::format("'{}' is partial", output.name));
    }
    check_assignments(partitioned, there);
  });
}

}  // namespace mtfc
