#include "core/passes/steps/assign_buffers.h"

#include <algorithm>

#include "core/graph/op_registry.h"
#include "core/passes/steps/arena_layout.h"
#include "core/program/collective_cost.h"
#include "core/program/fused_grid.h"

namespace mtfc {
namespace {

class BufferPlan {
 public:
  BufferPlan(PartitionedEntry& partitioned, const std::vector<ProgramVariable>& variables,
             int64_t variables_bytes, const Mesh& mesh)
      : entry_(partitioned.entry),
        partitioned_(partitioned),
        variables_(variables),
        variables_bytes_(variables_bytes),
        mesh_(mesh),
        stored_in_(entry_.values.size(), -1) {}

  EntryPoint run() {
    find_lifetimes();
    store_assignments();
    find_lifetimes();
    give_buffers();
    give_workspaces();
    place();
    return std::move(entry_);
  }

 private:
  struct Lifetime {
    int written = -1;    // first step that writes it (the start of a collective), -1 for leaves
    int made = -1;       // step after which it is complete
    int last_read = -1;  // last step that reads it; the wait, for the operand of a collective
    int writers = 0;     // steps that write it: more than one where a loop carries it
  };

  static size_t index(int id) { return static_cast<size_t>(id); }
  const Value& value(ValueId id) const { return entry_.values[index(id)]; }
  const Step& step(int s) const { return entry_.steps[index(s)]; }
  int last_step() const { return static_cast<int>(entry_.steps.size()) - 1; }

  // The value whose storage a value uses: through aliases, and the variable that it is computed into.
  ValueId root(ValueId id) const {
    id = root_of(entry_, id);
    return stored_in_[index(id)] >= 0 ? stored_in_[index(id)] : id;
  }

  void find_lifetimes() {
    life_.assign(entry_.values.size(), {});
    for (int s = 0; s <= last_step(); ++s) {
      const Step& now = step(s);
      for (const ValueId id : now.inputs) life_[index(root(id))].last_read = s;
      if (now.kind == StepKind::kStart) continue;
      for (const ValueId id : now.outputs) {
        Lifetime& life = life_[index(root(id))];
        life.made = s;
        if (life.writers++ == 0) life.written = now.kind == StepKind::kWait ? now.started : s;
      }
    }
    keep_through_loops();
    for (const Binding& output : entry_.outputs) life_[index(root(output.value))].last_read = last_step() + 1;
  }

  // What a loop has from outside it needs in every round. Inner loops begin after outer ones.
  void keep_through_loops() {
    for (int begin = last_step(); begin >= 0; --begin) {
      if (step(begin).kind != StepKind::kLoop) continue;
      const int end = step(begin).partner;
      for (Lifetime& life : life_) {
        const bool used =
            (life.last_read > begin && life.last_read < end) || (life.made > begin && life.made < end);
        if (used && life.written < begin) life.last_read = std::max(life.last_read, end);
      }
    }
  }

  // Lets new values be computed in their variables where nothing reads the old value later; copies the
  // others.
  void store_assignments() {
    for (const auto& [variable, fresh] : partitioned_.assignments) {
      const ValueId made = root(fresh);
      if (can_replace(variable, made)) {
        stored_in_[index(made)] = variable;
        continue;
      }
      Step copy;
      copy.op = &op_named("identity");
      copy.name = value(variable).name;
      copy.phase = Phase::kUpdate;
      copy.inputs = {fresh};
      copy.outputs = {variable};
      entry_.steps.push_back(std::move(copy));
    }
  }

  bool can_replace(ValueId variable, ValueId made) const {
    const Lifetime& life = life_[index(made)];
    if (life.made < 0 || partitioned_.variable_of[index(made)] >= 0) return false;
    if (value(made).type.dtype != value(variable).type.dtype) return false;
    const int last_read = life_[index(variable)].last_read;
    return last_read < life.written ||
           (last_read == life.written && life.writers == 1 && works_in_place(life.made, variable, made));
  }

  // Whether step `s` may write `out` over its operand stored in `in` (both roots): element by element, each
  // one read before it is written or left as it is.
  bool works_in_place(int s, ValueId in, ValueId out) const {
    const Step& now = step(s);
    const bool kernel = now.kind == StepKind::kKernel && may_overwrite_operand(*now.op);
    const bool all_reduce = now.kind == StepKind::kWait && now.collective == CollectiveKind::kAllReduce;
    if (!kernel && !all_reduce && now.kind != StepKind::kFused) return false;
    const auto made =
        std::find_if(now.outputs.begin(), now.outputs.end(), [&](ValueId id) { return root(id) == out; });
    if (made == now.outputs.end()) return false;
    for (const ValueId id : now.inputs) {
      if (root(id) != in) continue;
      if (!operand_matches(id, *made)) return false;
      if (now.kind == StepKind::kFused && !may_overwrite(entry_, now, id, *made)) return false;
    }
    return !all_reduce || read_alone(now.started, s, in);
  }

  // Whether nothing but the collective itself reads `in` while it is under way.
  bool read_alone(int started, int waited, ValueId in) const {
    for (int s = started + 1; s < waited; ++s)
      for (const ValueId id : step(s).inputs)
        if (root(id) == in) return false;
    return true;
  }

  int64_t bytes_of(ValueId id) const {
    const TensorType& type = value(id).type;
    return elements(largest_dims(type.dims, value(id).sharding, mesh_)) * size_of(type.dtype);
  }

  void give_buffers() {
    std::vector<BufferId> buffer_of(entry_.values.size(), kNoBuffer);  // of roots
    for (size_t i = 0; i < entry_.values.size(); ++i)
      if (const int variable = partitioned_.variable_of[i]; variable >= 0) {
        buffer_of[i] = add_buffer(BufferKind::kVariable, variables_[index(variable)].bytes, 0, last_step());
        entry_.buffers.back().offset = variables_[index(variable)].offset;
      }
    for (const Binding& input : entry_.inputs)
      buffer_of[index(input.value)] =
          add_buffer(BufferKind::kInput, bytes_of(input.value), 0, end_of(input.value));
    for (int s = 0; s <= last_step(); ++s) {
      if (step(s).kind == StepKind::kStart) continue;
      for (const ValueId id : step(s).outputs) {
        const ValueId made = root(id);
        if (buffer_of[index(made)] != kNoBuffer) continue;
        buffer_of[index(made)] = reusable(s, id, buffer_of);
        if (buffer_of[index(made)] == kNoBuffer)
          buffer_of[index(made)] =
              add_buffer(BufferKind::kActivation, bytes_of(id), life_[index(made)].written, end_of(made));
        Buffer& buffer = entry_.buffers[index(buffer_of[index(made)])];
        buffer.last_step = std::max(buffer.last_step, end_of(made));
      }
    }
    for (size_t i = 0; i < entry_.values.size(); ++i)
      entry_.values[i].buffer = buffer_of[index(root(static_cast<ValueId>(i)))];
  }

  int end_of(ValueId made) const {
    const Lifetime& life = life_[index(made)];
    return std::min(std::max({life.last_read, life.made, 0}), std::max(last_step(), 0));
  }

  // The buffer of an operand that ends with step `s` and that the result may take over.
  BufferId reusable(int s, ValueId result, const std::vector<BufferId>& buffer_of) const {
    for (const ValueId id : step(s).inputs) {
      const ValueId in = root(id);
      const BufferId buffer = buffer_of[index(in)];
      if (buffer == kNoBuffer || entry_.buffers[index(buffer)].kind != BufferKind::kActivation) continue;
      if (life_[index(in)].last_read == s && entry_.buffers[index(buffer)].last_step == s &&
          works_in_place(s, in, root(result)) && operand_matches(id, result) &&
          !is_taken(s, buffer, buffer_of))
        return buffer;
    }
    return kNoBuffer;
  }

  // Whether another result of step `s` has the buffer already.
  bool is_taken(int s, BufferId buffer, const std::vector<BufferId>& buffer_of) const {
    return std::any_of(step(s).outputs.begin(), step(s).outputs.end(),
                       [&](ValueId id) { return buffer_of[index(root(id))] == buffer; });
  }

  bool operand_matches(ValueId operand, ValueId result) const {
    return value(operand).type == value(result).type &&
           value(operand).sharding.dims == value(result).sharding.dims;
  }

  BufferId add_buffer(BufferKind kind, int64_t bytes, int first, int last) {
    entry_.buffers.push_back({kind, bytes, 0, std::max(first, 0), last});
    return static_cast<BufferId>(entry_.buffers.size()) - 1;
  }

  void give_workspaces() {
    for (int s = 0; s <= last_step(); ++s) {
      Step& now = entry_.steps[index(s)];
      if (now.kind == StepKind::kKernel && now.op->workspace != kNoWorkspace) {
        const std::vector<TensorType> operands = local_types(entry_, now.inputs, mesh_, mesh_.last());
        const std::vector<TensorType> results = local_types(entry_, now.outputs, mesh_, mesh_.last());
        const int64_t bytes = now.op->workspace({now.attributes, operands}, results);
        if (bytes > 0) now.workspace = add_buffer(BufferKind::kWorkspace, bytes, s, s);
      } else if (now.kind == StepKind::kWait) {
        const int64_t bytes = collective_workspace(entry_, now, mesh_);
        if (bytes > 0)
          now.workspace = entry_.steps[index(now.started)].workspace =
              add_buffer(BufferKind::kWorkspace, bytes, now.started, s);
      }
    }
  }

  void place() {
    std::vector<ArenaBlock> blocks;
    std::vector<size_t> placed;
    for (size_t b = 0; b < entry_.buffers.size(); ++b) {
      const Buffer& buffer = entry_.buffers[b];
      if (buffer.kind == BufferKind::kVariable) continue;
      blocks.push_back({buffer.bytes, buffer.first_step, buffer.last_step, 0});
      placed.push_back(b);
    }
    entry_.arena_bytes = variables_bytes_ + place_blocks(blocks, kAlignment);
    for (size_t i = 0; i < placed.size(); ++i)
      entry_.buffers[placed[i]].offset = variables_bytes_ + blocks[i].offset;
  }

  EntryPoint& entry_;
  PartitionedEntry& partitioned_;
  const std::vector<ProgramVariable>& variables_;
  int64_t variables_bytes_;
  const Mesh& mesh_;
  std::vector<ValueId> stored_in_;  // per value: the variable's value that it is computed into, or -1
  std::vector<Lifetime> life_;      // of roots
};

}  // namespace

EntryPoint assign_buffers(PartitionedEntry partitioned, const std::vector<ProgramVariable>& variables,
                          int64_t variables_bytes, const Mesh& mesh) {
  return BufferPlan(partitioned, variables, variables_bytes, mesh).run();
}

}  // namespace mtfc
