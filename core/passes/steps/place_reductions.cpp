#include "core/passes/steps/place_reductions.h"

#include <algorithm>
#include <optional>

#include "core/op_rules/pieces.h"
#include "core/passes/steps/min_cut.h"
#include "core/program/reshard.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

// The placement over one axis.
class Placement {
 public:
  Placement(const ShardedEntry& sharded, const Mesh& mesh, int axis)
      : graph_(sharded.entry.graph),
        strategies_(sharded.strategies),
        targets_(sharded.shardings),
        mesh_(mesh),
        axis_(axis) {
    const EntryGraph& entry = sharded.entry;
    const size_t tensors = graph_.tensors().size();
    form_.resize(tensors);
    needed_whole_.resize(tensors, false);
    carried_.resize(graph_.nodes().size());
    for (size_t n = 0; n < graph_.nodes().size(); ++n) find_partial(n);
    for (size_t i = 0; i + entry.sums < entry.outputs.size(); ++i)
      needed_whole_[index(entry.outputs[i].tensor)] = true;
    for (const Assignment& assignment : entry.assignments) needed_whole_[index(assignment.value)] = true;
  }

  // Adds to `carries`, one list per node.
  void place(std::vector<std::vector<Carry>>& carries) {
    const std::vector<bool> stays_partial = cut();
    std::vector<bool> partial(graph_.tensors().size(), false);
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      for (const TensorId id : node.results) {
        if (!form_[index(id)]) continue;
        const std::vector<size_t>& operands = carried_[n];
        // An operand that is made whole further up can't be taken partial here.
        const bool available = std::all_of(operands.begin(), operands.end(),
                                           [&](size_t i) { return partial[index(node.operands[i])]; });
        partial[index(id)] = operands.empty() || (available && stays_partial[index(id)]);
        if (!operands.empty() && partial[index(id)]) carries[n].push_back({axis_, operands});
      }
    }
  }

 private:
  static size_t index(TensorId id) { return static_cast<size_t>(id); }

  bool uses_axis(const Strategy& strategy) const {
    const auto splits = [&](const Sharding& sharding) {
      const AxisList axes = split_axes(sharding);
      return std::find(axes.begin(), axes.end(), axis_) != axes.end() || sharding.is_partial(axis_);
    };
    return std::any_of(strategy.operands.begin(), strategy.operands.end(), splits) ||
           std::any_of(strategy.results.begin(), strategy.results.end(), splits);
  }

  // Sets form_ of the node's results that can be partial, and notes which of its operands must be whole.
  void find_partial(size_t n) {
    const Node& node = graph_.nodes()[n];
    const Strategy& strategy = strategies_[n];
    for (size_t i = 0; i < node.results.size() && i < strategy.results.size(); ++i)
      for (const Partial& p : strategy.results[i].partial)
        if (p == Partial{axis_, ReduceKind::kSum})
          form_[index(node.results[i])] = strategy.results[i].whole();
    if (node.kind == NodeKind::kOp) {
      for (const std::vector<int>& set : linear_sets(*node.op, node.operands.size()))
        if (carried_[n].empty() && !uses_axis(strategy) && !fills(node))
          carried_[n] = taken_partial(node, strategy, set);
      if (!carried_[n].empty()) carry_form(node, strategy, n);
    }
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (std::find(carried_[n].begin(), carried_[n].end(), i) == carried_[n].end())
        needed_whole_[index(node.operands[i])] = true;
  }

  // Whether the result holds numbers that come from no operand: their sum over devices would be wrong.
  bool fills(const Node& node) const {
    if (node.op->family != Family::kMovement) return false;
    const std::vector<TensorType> operands = graph_.operand_types(node), results = graph_.result_types(node);
    const std::vector<Factor> factors = node.op->roles({node.attributes, operands}, results);
    const Factor* moved = moved_factor(factors);
    return moved && moved->fill != 0;
  }

  // The operands of `set` that are partial, if the whole set can be taken so: a constant zero is partial as
  // it is.
  std::vector<size_t> taken_partial(const Node& node, const Strategy& strategy,
                                    const std::vector<int>& set) const {
    std::vector<size_t> taken;
    for (const int operand : set) {
      const size_t i = index(operand);
      if (i >= node.operands.size()) return {};
      const std::optional<Sharding>& form = form_[index(node.operands[i])];
      if (!form) {
        if (graph_.constant_value(node.operands[i]) != 0.0) return {};
        continue;
      }
      const bool relabel = node.op->family == Family::kRelabel;
      if (!relabel && form->dims != strategy.operands[i].dims) return {};
      taken.push_back(i);
    }
    return taken;
  }

  void carry_form(const Node& node, const Strategy& strategy, size_t n) {
    const TensorId result = node.results[0];
    Sharding form;
    if (node.op->family == Family::kRelabel) {
      const TensorId operand = node.operands[0];
      if (!carries(graph_.type(operand).dims, *form_[index(operand)], graph_.type(result).dims, mesh_,
                   form)) {
        carried_[n].clear();
        return;
      }
    } else {
      form = strategy.results[0].whole();
    }
    form_[index(result)] = form;
  }

  // Bytes, then one per collective, to make a partial tensor whole in the sharding it has in the end.
  int64_t weight(TensorId id) const {
    Sharding from = *form_[index(id)];
    from.partial = {{axis_, ReduceKind::kSum}};
    const MoveCost cost = reshard_cost(graph_.type(id), from, targets_[index(id)], mesh_);
    constexpr int64_t kPerByte = 4096;  // so that the count decides only between equal bytes
    return std::min(cost.bytes, FlowNetwork::kUnlimited / kPerByte / 4) * kPerByte + cost.collectives;
  }

  // For every tensor whether its partial form is on the near side of the cut.
  std::vector<bool> cut() const {
    const int tensors = static_cast<int>(form_.size());
    const int source = 2 * tensors, sink = source + 1;
    FlowNetwork network(sink + 1);  // tensor t: before its reduction 2t, after it 2t+1
    for (TensorId id = 0; id < tensors; ++id) {
      if (!form_[index(id)]) continue;
      const auto n = index(graph_.tensor(id).node);
      network.add_edge(2 * id, 2 * id + 1, weight(id));
      if (carried_[n].empty()) network.add_edge(source, 2 * id, FlowNetwork::kUnlimited);
      for (const size_t i : carried_[n])
        network.add_edge(2 * graph_.nodes()[n].operands[i] + 1, 2 * id, FlowNetwork::kUnlimited);
      if (needed_whole_[index(id)]) network.add_edge(2 * id + 1, sink, FlowNetwork::kUnlimited);
    }
    const std::vector<bool> side = network.source_side(source, sink);
    std::vector<bool> stays_partial(form_.size());
    for (size_t i = 0; i < stays_partial.size(); ++i) stays_partial[i] = side[2 * i];
    return stays_partial;
  }

  const Graph& graph_;
  const std::vector<Strategy>& strategies_;
  const std::vector<Sharding>& targets_;
  const Mesh& mesh_;
  int axis_;
  std::vector<std::optional<Sharding>> form_;  // per tensor: how it is split while partial over the axis
  std::vector<bool> needed_whole_;             // per tensor
  std::vector<std::vector<size_t>> carried_;   // per node: operands it can take partial
};

}  // namespace

ShardedEntry place_reductions(ShardedEntry sharded, const Mesh& mesh) {
  std::vector<std::vector<Carry>> carries(sharded.entry.graph.nodes().size());
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis)
    if (mesh.axes()[axis].size > 1) Placement(sharded, mesh, static_cast<int>(axis)).place(carries);
  sharded.carries = std::move(carries);
  return sharded;
}

}  // namespace mtfc
