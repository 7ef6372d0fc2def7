#include "core/program/memory_use.h"

#include <algorithm>

namespace mtfc {
namespace {

// The buffer of an assigned variable is part of the variables, so it does not count again.
bool counts(const Buffer& buffer) {
  return buffer.kind != BufferKind::kVariable;
}

// The names of what the buffers hold once `step` has run, by buffer.
IndexedBy<BufferId, std::string> buffer_names(const EntryPoint& entry, size_t step) {
  IndexedBy<BufferId, std::string> names(entry.buffers.size());
  for (const Value& value : entry.values)
    if (value.buffer != kNoBuffer && names[value.buffer].empty()) names[value.buffer] = value.name;
  for (size_t s = 0; s <= step && s < entry.steps.size(); ++s)
    for (const ValueId id : entry.steps[StepIndex(s)].outputs)
      if (const Value& value = entry.values[id]; value.buffer != kNoBuffer) names[value.buffer] = value.name;
  for (const Step& user : entry.steps)
    if (user.workspace != kNoBuffer && names[user.workspace].empty())
      names[user.workspace] = "workspace of " + user.name;
  return names;
}

}  // namespace

MemoryUse memory_use(const EntryPoint& entry) {
  const size_t steps = std::max<size_t>(1, entry.steps.size());
  const std::vector<int64_t> none(steps);
  MemoryUse use{none, none, none, none, none};
  for (const Buffer& buffer : entry.buffers) {
    if (!counts(buffer)) continue;
    std::vector<int64_t>& alive = buffer.kind == BufferKind::kInput          ? use.inputs
                                  : buffer.kind == BufferKind::kWorkspace    ? use.workspace
                                  : buffer.kind == BufferKind::kGradient     ? use.gradients
                                  : buffer.kind == BufferKind::kVariableCopy ? use.variable_copies
                                                                             : use.activations;
    alive[static_cast<size_t>(buffer.first_step)] += buffer.bytes;
    const size_t after = static_cast<size_t>(std::max(buffer.last_step, 0)) + 1;
    if (after < steps) alive[after] -= buffer.bytes;
  }
  for (size_t s = 1; s < steps; ++s) {
    use.inputs[s] += use.inputs[s - 1];
    use.activations[s] += use.activations[s - 1];
    use.workspace[s] += use.workspace[s - 1];
    use.gradients[s] += use.gradients[s - 1];
    use.variable_copies[s] += use.variable_copies[s - 1];
    if (use.at(s) > use.at(use.peak)) use.peak = s;
  }
  return use;
}

std::vector<AliveTensor> alive_at(const Program& program, const EntryPoint& entry, size_t step) {
  const int last = static_cast<int>(std::max<size_t>(1, entry.steps.size())) - 1;
  std::vector<AliveTensor> alive;
  for (const ProgramVariable& variable : program.variables)
    alive.push_back({variable.decl.name, variable.decl.optimizer_state ? "optimizer state" : "variable",
                     variable.bytes, 0, last});
  for (const ProgramVariable& cache : entry.caches)
    alive.push_back({cache.decl.name, "cache", cache.bytes, 0, last});
  const IndexedBy<BufferId, std::string> names = buffer_names(entry, step);
  for (const BufferId b : entry.buffers.ids()) {
    const Buffer& buffer = entry.buffers[b];
    const auto at = static_cast<int>(step);
    if (!counts(buffer) || buffer.bytes == 0 || buffer.first_step > at || std::max(buffer.last_step, 0) < at)
      continue;
    alive.push_back({names[b], to_string(buffer.kind), buffer.bytes, buffer.first_step, buffer.last_step});
  }
  std::stable_sort(alive.begin(), alive.end(),
                   [](const AliveTensor& a, const AliveTensor& b) { return a.bytes > b.bytes; });
  return alive;
}

}  // namespace mtfc
