#include "core/compile/memory_bound.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/compile/variable_placement.h"
#include "core/model/annotations.h"
#include "core/model/entry_points.h"
#include "core/model/size_limits.h"
#include "core/model/state_split.h"
#include "core/tensors/alignment.h"

namespace mtfc {
namespace {

bool takes_memory(const EntryPoint& entry, ValueId id) {
  const BufferId buffer = entry.values[id].buffer;
  return buffer != kNoBuffer && entry.buffers[buffer].kind != BufferKind::kVariable;
}

// Returns the bytes of the buffers of `values`. A buffer that several of them share counts once.
int64_t bytes_of(const EntryPoint& entry, const std::set<ValueId>& values) {
  std::set<BufferId> buffers;
  for (const ValueId id : values) buffers.insert(entry.values[id].buffer);
  int64_t bytes = 0;
  for (const BufferId id : buffers) bytes += entry.buffers[id].bytes;
  return bytes;
}

}  // namespace

int64_t lasting_memory(const Program& program, const EntryPoint& entry) {
  int64_t end = 0;
  for (const auto* variables : {&program.variables, &entry.caches})
    for (const ProgramVariable& variable : *variables) end = std::max(end, variable.offset + variable.bytes);
  return end;
}

// Products are never part of a fused step, so their operands and results are in memory.
int64_t least_memory(const Program& program, const EntryPoint& entry) {
  int64_t most = 0;
  for (const Step& step : entry.steps) {
    if (!step.multiplies()) continue;
    std::set<ValueId> values;
    for (const auto* ids : {&step.inputs, &step.outputs})
      for (const ValueId id : *ids)
        if (const ValueId root = root_of(entry, id); takes_memory(entry, root)) values.insert(root);
    most = std::max(most, bytes_of(entry, values));
  }
  return lasting_memory(program, entry) + most;
}

int64_t backward_memory(const EntryPoint& entry, size_t step) {
  std::set<ValueId> made, read;
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& at = entry.steps[StepIndex(s)];
    if (!at.multiplies() || at.phase != Phase::kBackward) continue;
    for (const ValueId id : at.outputs)
      if (s <= step) made.insert(root_of(entry, id));
    for (const ValueId id : at.inputs)
      if (s >= step) read.insert(root_of(entry, id));
  }
  std::set<ValueId> alive;
  for (const ValueId id : made)
    if (read.count(id) > 0 && takes_memory(entry, id)) alive.insert(id);
  return bytes_of(entry, alive);
}

int64_t least_state_memory(const Model& model, const Layout& layout) {
  const Annotations annotations(model, layout);
  const StateSplit split = state_split(model, layout);
  const bool is_chosen = is_planned(layout, annotations);
  const auto fixed = is_chosen ? fixed_variables(model, layout, split, annotations) : Shardings();
  const VariableShardings by_rules = shardings_by_rules(layout, split);
  const std::vector<VariableDecl> all = all_variables(model);
  require_countable(all);
  int64_t next = 0, end = 0;  // of the next variable, and of the one before it
  for (const VariableDecl& variable : all) {
    const auto at = fixed.find(variable.name);
    if (is_chosen && at == fixed.end()) {
      end = next + bytes(variable.type) / layout.mesh.devices();
      next = end;
    } else {
      end = next + largest_bytes(variable.type, is_chosen ? at->second : by_rules(variable), layout.mesh);
      next = aligned(end);
    }
  }
  return end;
}

}  // namespace mtfc
