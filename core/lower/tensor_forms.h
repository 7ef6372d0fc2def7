#pragma once
// The forms of the tensors of a graph while `partition` turns it into steps. A tensor is held as one value or
// as several, each in another sharding. A form that is asked for is made once for all its
// users, from the form that the plan says.
//
//   h = einsum(x, w)        h@sum(cols)   as the kernel gives it
//   y = relu(h)             h             all_reduce(h@sum(cols)): in its own sharding, for relu
//   z = softmax(h)          h@whole       all_gather(h)

#include <map>
#include <vector>

#include "core/plan/sharded_entry.h"
#include "core/program/reshard.h"

namespace mtfc {

/// Its functions may be called in any order, but only a tensor that has a form can be obtained in another.
class TensorForms {
 public:
  /// Both must outlive it.
  TensorForms(const ShardedEntry& sharded, const Mesh& mesh);

  const ShardedEntry& sharded() const { return sharded_; }
  const Graph& graph() const { return sharded_.entry.graph; }
  const Mesh& mesh() const { return mesh_; }
  /// The sharding that the layout gives the tensor.
  const Sharding& own_sharding(TensorId id) const { return sharded_.shardings[id]; }

  /// The entry point so far. Steps and values that are not forms are added here.
  PartitionedEntry& made() { return made_; }
  const PartitionedEntry& made() const { return made_; }
  const Value& value(ValueId id) const { return made_.entry.values[id]; }
  /// Adds a value that is no form of a tensor. It reads `variable`, or none where that is -1.
  ValueId add_value(Value value, int variable = -1);

  /// The values of the tensor, oldest first.
  const std::vector<ValueId>& of(TensorId id) const { return forms_[id]; }
  /// A new form, which the caller adds a step for.
  ValueId add(TensorId tensor, const Sharding& sharding);
  /// A form with the elements of the value `of`, unless the tensor has one in this sharding.
  void add_alias(ValueId of, TensorId tensor, const Sharding& sharding);

  /// The tensor in the sharding `wanted`, for the node `user`. Adds the steps that move it there.
  ValueId obtain(TensorId tensor, const Sharding& wanted, const Node& user);

  /// A step for the node, without inputs, outputs and action.
  Step new_step(const Node& node) const;
  /// Adds `step` as the move from one value to another.
  void emit_move(Step step, ValueId from, ValueId to, const Move& move);
  /// Adds `step` as the start of a collective, and the wait for it. An exchange does the work of the kernel that
  /// `step` is, if it has an operation.
  void emit_collective(Step step, const Collective& collective);

 private:
  ValueId planned_form(TensorId tensor, const Sharding& wanted, size_t before, const Node& user);
  ValueId moved(TensorId tensor, ValueId from, const Move& move, const Node& user);

  const ShardedEntry& sharded_;
  const Mesh& mesh_;
  PartitionedEntry made_;
  PerTensor<std::vector<ValueId>> forms_;
  std::map<ValueId, std::vector<ValueId>> moved_to_;  // by the value that a move takes
  PerTensor<std::vector<ValueId>> planned_;  // those of ShardedEntry::forms that are made so far, or kNoValue
};

}  // namespace mtfc
