#include "core/lower/assign_buffers.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/graph/op_registry.h"
#include "core/lower/arena_layout.h"
#include "core/program/collective_cost.h"
#include "core/program/fused_grid.h"
#include "core/program/ring.h"

namespace mtfc {
namespace {

int last_step(const EntryPoint& entry) {
  return static_cast<int>(entry.steps.size()) - 1;
}

// The values that share their storage with another one, whatever their lifetimes. The entry may get more
// steps meanwhile.
class Storage {
 public:
  const EntryPoint& entry;
  PerValue<ValueId> stored_in;  // the variable's value that each is computed into, or kNoValue

  Storage(const EntryPoint& of, PerValue<ValueId> stored)
      : entry(of), stored_in(std::move(stored)), readers_(of.values.size()) {
    for (int s = 0; s <= last_step(entry); ++s)
      for (const ValueId id : step(s).inputs) readers_[root(id)].push_back(s);
  }

  const Value& value(ValueId id) const { return entry.values[id]; }
  const Step& step(int s) const { return entry.steps[s]; }
  // The value in whose storage a value is: that of an alias, and the variable that a value is computed into.
  ValueId root(ValueId id) const {
    id = root_of(entry, id);
    return stored_in[id] != kNoValue ? stored_in[id] : id;
  }
  // True if one of the steps between these two reads what was stored in `in` when this object was made.
  bool is_read_between(ValueId in, int before, int behind) const {
    const std::vector<int>& steps = readers_[in];
    const auto next = std::upper_bound(steps.begin(), steps.end(), before);
    return next != steps.end() && *next < behind;
  }

 private:
  PerValue<std::vector<int>>
      readers_;  // of roots: ascending steps. A collective may take as long as all layers.
};

struct Lifetime {
  int written = -1;    // first step that writes it (the start of a collective), -1 for leaves
  int made = -1;       // step after which it is complete
  int last_read = -1;  // last step that reads it; the wait, for the operand of a collective
  int writers = 0;     // steps that write it: more than one where a loop carries it
};

// A value from outside a loop that is used in it is used in every round, and so lives until its end. Inner
// loops come first, as they begin after the outer ones.
void keep_through_loops(const EntryPoint& entry, PerValue<Lifetime>& life) {
  for (int begin = last_step(entry); begin >= 0; --begin) {
    const auto* loop = entry.steps[begin].as<BeginLoop>();
    if (!loop) continue;
    const int end = loop->end.number();
    for (Lifetime& of : life) {
      const bool used = (of.last_read > begin && of.last_read < end) || (of.made > begin && of.made < end);
      if (used && of.written < begin) of.last_read = std::max(of.last_read, end);
    }
  }
}

// The lifetime of every value. Only those of roots mean anything.
PerValue<Lifetime> find_lifetimes(const Storage& storage) {
  const EntryPoint& entry = storage.entry;
  PerValue<Lifetime> life(entry.values.size());
  for (int s = 0; s <= last_step(entry); ++s) {
    const Step& step = storage.step(s);
    const auto* wait = step.as<AwaitCollective>();
    for (const ValueId id : step.inputs) life[storage.root(id)].last_read = s;
    if (step.kind() == StepKind::kStart) continue;
    for (const ValueId id : step.outputs) {
      Lifetime& of = life[storage.root(id)];
      of.made = s;
      if (of.writers++ == 0) of.written = wait ? wait->start.number() : s;
    }
  }
  keep_through_loops(entry, life);
  for (const Binding& output : entry.outputs)
    life[storage.root(output.value)].last_read = last_step(entry) + 1;
  return life;
}

bool has_same_shards(const Storage& storage, ValueId operand, ValueId result) {
  const Value &a = storage.value(operand), &b = storage.value(result);
  return a.type == b.type && a.sharding.dims == b.sharding.dims;
}

// True if step `s` may write `out` over its operand stored in `in`, both of them roots. It may if it works
// element by element, so that each one is read before it is written, or left as it is.
bool works_in_place(const Storage& storage, int s, ValueId in, ValueId out) {
  const Step& step = storage.step(s);
  const bool kernel = step.kind() == StepKind::kKernel && may_overwrite_operand(*step.op());
  const auto* wait = step.as<AwaitCollective>();
  const bool collective = wait && works_in_place(wait->collective.kind);
  if (!kernel && !collective && step.kind() != StepKind::kFused) return false;
  const auto made = std::find_if(step.outputs.begin(), step.outputs.end(),
                                 [&](ValueId id) { return storage.root(id) == out; });
  if (made == step.outputs.end()) return false;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const ValueId id = step.inputs[i];
    if (storage.root(id) != in) continue;
    if (!has_same_shards(storage, id, *made)) return false;
    if (collective && step.outputs[i] != *made) return false;
    if (step.kind() == StepKind::kFused && !may_overwrite(storage.entry, step, id, *made)) return false;
  }
  return !collective || !storage.is_read_between(in, wait->start.number(), s);
}

// True if `made`, the root of the new value of `variable`, can be computed in the variable, as nothing reads
// the old value once the new one is written.
bool can_replace(const Storage& storage, const PerValue<Lifetime>& life, ValueId variable, ValueId made) {
  const Lifetime& fresh = life[made];
  if (fresh.made < 0 || storage.value(made).type.dtype != storage.value(variable).type.dtype) return false;
  const int last_read = life[variable].last_read;
  return last_read < fresh.written || (last_read == fresh.written && fresh.writers == 1 &&
                                       works_in_place(storage, fresh.made, variable, made));
}

// Decides which new values are computed in their variables, and gives `stored_in` of Storage. Adds steps that
// copy the others to the end.
PerValue<ValueId> store_assignments(PartitionedEntry& partitioned) {
  EntryPoint& entry = partitioned.entry;
  Storage storage(entry, PerValue<ValueId>(entry.values.size()));
  const PerValue<Lifetime> life = find_lifetimes(storage);
  for (const auto& [variable, fresh] : partitioned.assignments) {
    const ValueId made = storage.root(fresh);
    if (partitioned.variable_of[made] < 0 && can_replace(storage, life, variable, made)) {
      storage.stored_in[made] = variable;
      continue;
    }
    Step copy;
    copy.action = RunKernel{&op_named("identity")};
    copy.name = storage.value(variable).name;
    copy.phase = Phase::kUpdate;
    copy.inputs = {fresh};
    copy.outputs = {variable};
    entry.steps.push_back(std::move(copy));
  }
  return storage.stored_in;
}

BufferId add_buffer(EntryPoint& entry, const Buffer& buffer) {
  return entry.buffers.add(buffer);
}

// Adds buffers for the values of an entry point in the order of its steps.
class BufferAssignment {
 public:
  BufferAssignment(EntryPoint& entry, const Storage& storage)
      : entry_(entry),
        storage_(storage),
        life_(find_lifetimes(storage)),
        buffer_of_(entry.values.size(), kNoBuffer) {}

  void add_variable(ValueId id, const ProgramVariable& variable) {
    buffer_of_[id] =
        add_buffer(entry_, {BufferKind::kVariable, variable.bytes, variable.offset, 0, last_step(entry_)});
  }

  void add_input(ValueId id, int64_t bytes) {
    buffer_of_[id] = add_buffer(entry_, {BufferKind::kInput, bytes, 0, 0, end_of(id)});
  }

  // The buffer of a result of step `s`: that of its root, that of an operand, or a new one.
  void add_result(int s, ValueId id, int64_t bytes) {
    const ValueId made = storage_.root(id);
    BufferId& buffer = buffer_of_[made];
    if (buffer != kNoBuffer) return;
    buffer = reusable(s, id);
    const int begin = std::max(life_[made].written, 0);
    if (buffer == kNoBuffer)
      buffer = add_buffer(entry_, {BufferKind::kActivation, bytes, 0, begin, end_of(made)});
    Buffer& added = entry_.buffers[buffer];
    added.last_step = std::max(added.last_step, end_of(made));
  }

  BufferId buffer(ValueId id) const { return buffer_of_[storage_.root(id)]; }

 private:
  int end_of(ValueId made) const {
    const Lifetime& life = life_[made];
    return std::min(std::max({life.last_read, life.made, 0}), std::max(last_step(entry_), 0));
  }

  // The buffer of an operand that ends with step `s` and that the result may take over.
  BufferId reusable(int s, ValueId result) const {
    for (const ValueId id : storage_.step(s).inputs) {
      const ValueId in = storage_.root(id);
      const BufferId buffer = buffer_of_[in];
      if (buffer == kNoBuffer || entry_.buffers[buffer].kind != BufferKind::kActivation) continue;
      const bool ends = life_[in].last_read == s && entry_.buffers[buffer].last_step == s;
      if (ends && works_in_place(storage_, s, in, storage_.root(result)) &&
          has_same_shards(storage_, id, result) && !is_taken(s, buffer))
        return buffer;
    }
    return kNoBuffer;
  }

  // True if another result of step `s` has the buffer already.
  bool is_taken(int s, BufferId buffer) const {
    const std::vector<ValueId>& results = storage_.step(s).outputs;
    return std::any_of(results.begin(), results.end(),
                       [&](ValueId id) { return this->buffer(id) == buffer; });
  }

  EntryPoint& entry_;
  const Storage& storage_;
  PerValue<Lifetime> life_;
  PerValue<BufferId> buffer_of_;  // of roots
};

void give_buffers(PartitionedEntry& partitioned, const PerValue<ValueId>& stored_in,
                  const std::vector<ProgramVariable>& variables, const Mesh& mesh) {
  EntryPoint& entry = partitioned.entry;
  const Storage storage(entry, stored_in);
  BufferAssignment assignment(entry, storage);
  for (const ValueId id : entry.values.ids())
    if (const int variable = partitioned.variable_of[id]; variable >= 0)
      assignment.add_variable(id, variables[variable]);
  for (const Binding& input : entry.inputs)
    assignment.add_input(input.value, largest_bytes(entry, input.value, mesh));
  for (int s = 0; s <= last_step(entry); ++s)
    if (storage.step(s).kind() != StepKind::kStart)
      for (const ValueId id : storage.step(s).outputs)
        assignment.add_result(s, id, largest_bytes(entry, id, mesh));
  for (const ValueId id : entry.values.ids()) entry.values[id].buffer = assignment.buffer(id);
}

// Marks the buffers that hold complete gradients of variables, or sums of gradients over microbatches. They were
// assigned like those of other values.
void mark_gradients(EntryPoint& entry, const std::vector<ProgramVariable>& variables) {
  std::set<std::string, std::less<>> names;
  for (const ProgramVariable& variable : variables)
    if (variable.decl.trainable) names.insert(variable.decl.name + "/grad");
  for (const Value& value : entry.values) {
    if (value.buffer == kNoBuffer) continue;
    Buffer& buffer = entry.buffers[value.buffer];
    std::string_view tensor = std::string_view(value.name).substr(0, value.name.find('@'));
    // Sums over microbatches live through the loop, whether they are reduced yet or not.
    const bool is_sum = tensor.ends_with("/sum");
    if (is_sum) tensor.remove_suffix(std::string_view("/sum").size());
    const bool is_complete = is_sum || value.sharding.partial.empty();
    if (buffer.kind == BufferKind::kActivation && is_complete && names.contains(tensor))
      buffer.kind = BufferKind::kGradient;
  }
}

// True if the results have elements of the operands alone, perhaps in another dtype or on other devices.
bool only_moves(const Step& step) {
  const auto moves = [](const OpDef& op) {
    return op.family == Family::kRelabel || op.traits.copies != Copies::kNothing || op.traits.converts;
  };
  if (step.op() && step.kind() == StepKind::kKernel) return moves(*step.op());
  if (step.kind() == StepKind::kFused)
    return std::all_of(step.members().begin(), step.members().end(),
                       [&](const Step& member) { return member.op() && moves(*member.op()); });
  return step.kind() == StepKind::kStart || step.kind() == StepKind::kWait || step.kind() == StepKind::kSlice;
}

// Marks the buffers that hold nothing but copies of variables.
void mark_variable_copies(EntryPoint& entry) {
  PerValue<bool> is_made_of_variables(entry.values.size(), false);
  for (const ValueId id : entry.values.ids())
    if (const BufferId buffer = entry.values[id].buffer; buffer != kNoBuffer)
      is_made_of_variables[root_of(entry, id)] = entry.buffers[buffer].kind == BufferKind::kVariable;
  IndexedBy<BufferId, bool> holds_copy(entry.buffers.size(), false), holds_other = holds_copy;
  for (const Step& step : entry.steps) {
    const bool copies = step.phase != Phase::kUpdate && !step.inputs.empty() && only_moves(step) &&
                        std::all_of(step.inputs.begin(), step.inputs.end(),
                                    [&](ValueId id) { return is_made_of_variables[root_of(entry, id)]; });
    for (const ValueId id : step.outputs) {
      is_made_of_variables[root_of(entry, id)] = copies;
      if (const BufferId buffer = entry.values[id].buffer; buffer != kNoBuffer)
        (copies ? holds_copy : holds_other)[buffer] = true;
    }
  }
  for (const BufferId id : entry.buffers.ids())
    if (entry.buffers[id].kind == BufferKind::kActivation && holds_copy[id] && !holds_other[id])
      entry.buffers[id].kind = BufferKind::kVariableCopy;
}

void give_workspaces(EntryPoint& entry, const Mesh& mesh) {
  for (int s = 0; s <= last_step(entry); ++s) {
    Step& step = entry.steps[s];
    if (step.kind() == StepKind::kKernel) {
      const std::vector<LocalType> operands = largest_types(entry, step.inputs, mesh);
      const std::vector<LocalType> results = largest_types(entry, step.outputs, mesh);
      const int64_t bytes = kernel_workspace(*step.op(), {step.attributes(), operands}, results).bytes;
      if (bytes > 0) step.workspace = add_buffer(entry, {BufferKind::kWorkspace, bytes, 0, s, s});
    } else if (step.kind() == StepKind::kRing) {
      step.workspace =
          add_buffer(entry, {BufferKind::kWorkspace, Ring(entry, step, mesh).workspace().bytes(), 0, s, s});
    } else if (const auto* wait = step.as<AwaitCollective>()) {
      const int64_t bytes = collective_workspace(entry, step, mesh);
      if (bytes <= 0) continue;
      step.workspace = add_buffer(entry, {BufferKind::kWorkspace, bytes, 0, wait->start.number(), s});
      entry.steps[wait->start].workspace = step.workspace;
    }
  }
}

// Puts all buffers but those of variables into the arena, behind the variables.
void give_offsets(EntryPoint& entry, int64_t variables_bytes) {
  std::vector<ArenaBlock> blocks;
  std::vector<size_t> placed;
  for (size_t b = 0; b < entry.buffers.size(); ++b) {
    const Buffer& buffer = entry.buffers[b];
    if (buffer.kind == BufferKind::kVariable) continue;
    blocks.push_back({buffer.bytes, buffer.first_step, buffer.last_step, 0});
    placed.push_back(b);
  }
  entry.arena_bytes = variables_bytes + place_blocks(blocks, kAlignment);
  for (size_t i = 0; i < placed.size(); ++i)
    entry.buffers[placed[i]].offset = variables_bytes + blocks[i].offset;
}

}  // namespace

EntryPoint assign_buffers(PartitionedEntry partitioned, const std::vector<ProgramVariable>& variables,
                          int64_t variables_bytes, const Mesh& mesh) {
  const PerValue<ValueId> stored_in = store_assignments(partitioned);
  give_buffers(partitioned, stored_in, variables, mesh);
  mark_gradients(partitioned.entry, variables);
  mark_variable_copies(partitioned.entry);
  give_workspaces(partitioned.entry, mesh);
  give_offsets(partitioned.entry, variables_bytes);
  return std::move(partitioned.entry);
}

}  // namespace mtfc
