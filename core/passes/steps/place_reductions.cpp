#include "core/passes/steps/place_reductions.h"

#include <algorithm>
#include <optional>

#include "core/op_rules/pieces.h"
#include "core/passes/steps/min_cut.h"
#include "core/program/reshard.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

// The entry point as it is looked at over one axis of the mesh.
struct OverAxis {
  const ShardedEntry& sharded;
  const Mesh& mesh;
  int axis = 0;

  const Graph& graph() const { return sharded.entry.graph; }
};

// The tensors that can be partial over an axis, and those that must be whole.
struct PartialForms {
  PerTensor<std::optional<Sharding>> form;   // how it is split while it is partial, if it can be
  PerTensor<bool> needed_whole;              // a node that can't take it partial reads it
  std::vector<std::vector<size_t>> carried;  // per node: the operands that it can take partial
};

bool uses_axis(const Strategy& strategy, int axis) {
  const auto uses = [&](const Sharding& sharding) {
    const AxisList axes = split_axes(sharding);
    return contains(axes, axis) || sharding.is_partial(axis);
  };
  return std::any_of(strategy.operands.begin(), strategy.operands.end(), uses) ||
         std::any_of(strategy.results.begin(), strategy.results.end(), uses);
}

// True if the result holds numbers that come from no operand. Their sum over devices would be wrong.
bool fills(const Graph& graph, const Node& node) {
  if (node.op->family != Family::kMovement) return false;
  const std::vector<TensorType> operands = graph.operand_types(node), results = graph.result_types(node);
  const std::vector<Factor> factors = node.op->roles({node.attributes, operands}, results);
  const Factor* moved = moved_factor(factors);
  return moved && moved->fill != 0;
}

// The partial operands among a set that the operation is linear in. There are none unless the whole set can
// be taken partial. A constant zero can: it is partial as it is.
std::vector<size_t> taken_partial(const OverAxis& over, const PartialForms& forms, size_t n,
                                  const std::vector<int>& linear_set) {
  const Node& node = over.graph().nodes()[n];
  std::vector<size_t> taken;
  for (const int operand : linear_set) {
    const auto i = static_cast<size_t>(operand);
    if (i >= node.operands.size()) return {};
    const std::optional<Sharding>& form = forms.form[node.operands[i]];
    if (!form) {
      if (over.graph().constant_value(node.operands[i]) != 0.0) return {};
      continue;
    }
    const bool relabel = node.op->family == Family::kRelabel;
    if (!relabel && form->dims != over.sharded.strategies[n].operands[i].dims) return {};
    taken.push_back(i);
  }
  return taken;
}

// The sharding of the result of a node that takes partial operands; nothing if a relabelling node can't keep
// the split of its operand.
std::optional<Sharding> carried_form(const OverAxis& over, const PartialForms& forms, size_t n) {
  const Node& node = over.graph().nodes()[n];
  if (node.op->family != Family::kRelabel) return over.sharded.strategies[n].results[0].whole();
  const TensorId operand = node.operands[0];
  const Dims &from = over.graph().type(operand).dims, &to = over.graph().type(node.results[0]).dims;
  Sharding form;
  if (!carries(from, *forms.form[operand], to, over.mesh, form)) return std::nullopt;
  return form;
}

// Sets the forms of the results of node `n`, and which of its operands it takes partial or needs whole. Its
// operands have their forms already.
void add_node(const OverAxis& over, size_t n, PartialForms& forms) {
  const Node& node = over.graph().nodes()[n];
  const Strategy& strategy = over.sharded.strategies[n];
  for (size_t i = 0; i < node.results.size() && i < strategy.results.size(); ++i)
    for (const Partial& p : strategy.results[i].partial)
      if (p == Partial{over.axis, ReduceKind::kSum})
        forms.form[node.results[i]] = strategy.results[i].whole();

  std::vector<size_t>& carried = forms.carried[n];
  if (node.kind == NodeKind::kOp && !uses_axis(strategy, over.axis) && !fills(over.graph(), node))
    for (const std::vector<int>& linear_set : linear_sets(over.graph(), node))
      if (carried.empty()) carried = taken_partial(over, forms, n, linear_set);
  if (!carried.empty()) {
    if (const std::optional<Sharding> form = carried_form(over, forms, n))
      forms.form[node.results[0]] = form;
    else
      carried.clear();
  }
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (std::find(carried.begin(), carried.end(), i) == carried.end())
      forms.needed_whole[node.operands[i]] = true;
}

PartialForms find_forms(const OverAxis& over) {
  const EntryGraph& entry = over.sharded.entry;
  const size_t tensors = entry.graph.tensors().size(), nodes = entry.graph.nodes().size();
  PartialForms forms;
  forms.form.resize(tensors);
  forms.needed_whole.resize(tensors, false);
  forms.carried.resize(nodes);
  for (size_t n = 0; n < nodes; ++n) add_node(over, n, forms);
  for (size_t i = 0; i + entry.sums < entry.outputs.size(); ++i)
    forms.needed_whole[entry.outputs[i].tensor] = true;
  for (const Assignment& assignment : entry.assignments) forms.needed_whole[assignment.value] = true;
  return forms;
}

// The price of making a partial tensor whole in the sharding that it has in the end: bytes, and among equal
// bytes the number of collectives.
int64_t weight(const OverAxis& over, const PartialForms& forms, TensorId id) {
  Sharding from = *forms.form[id];
  from.partial = {{over.axis, ReduceKind::kSum}};
  const MoveCost cost = reshard_cost(over.graph().type(id), from, over.sharded.shardings[id], over.mesh);
  constexpr int64_t kPerByte = 4096;  // so that the count decides only between equal bytes
  return std::min(cost.bytes, FlowNetwork::kUnlimited / kPerByte / 4) * kPerByte + cost.collectives;
}

// Says for every tensor whether it stays partial: its partial form is before the minimum cut.
PerTensor<bool> staying_partial(const OverAxis& over, const PartialForms& forms) {
  const Graph& graph = over.graph();
  const int tensors = static_cast<int>(forms.form.size());
  const int source = 2 * tensors, sink = source + 1;
  FlowNetwork network(sink + 1);
  const auto before = [](TensorId id) { return 2 * id.number(); };     // a tensor before its reduction ...
  const auto after = [](TensorId id) { return 2 * id.number() + 1; };  // ... and after it
  for (const TensorId id : forms.form.ids()) {
    if (!forms.form[id]) continue;
    const auto n = static_cast<size_t>(graph.tensor(id).node);
    network.add_edge(before(id), after(id), weight(over, forms, id));
    if (forms.carried[n].empty()) network.add_edge(source, before(id), FlowNetwork::kUnlimited);
    for (const size_t i : forms.carried[n])
      network.add_edge(after(graph.nodes()[n].operands[i]), before(id), FlowNetwork::kUnlimited);
    if (forms.needed_whole[id]) network.add_edge(after(id), sink, FlowNetwork::kUnlimited);
  }
  const std::vector<bool> side = network.source_side(source, sink);
  PerTensor<bool> stays;
  for (const TensorId id : forms.form.ids()) stays.push_back(side[static_cast<size_t>(before(id))]);
  return stays;
}

// Per node the partial sum over the axis that passes through it; its list of operands is empty where none
// does.
std::vector<Carry> carries_over(const OverAxis& over) {
  const Graph& graph = over.graph();
  const PartialForms forms = find_forms(over);
  const PerTensor<bool> stays = staying_partial(over, forms);
  PerTensor<bool> is_partial(graph.tensors().size(), false);
  std::vector<Carry> carries(graph.nodes().size(), Carry{over.axis, {}});
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const std::vector<size_t>& operands = forms.carried[n];
    // An operand that is made whole further up can't be taken partial here.
    const bool available =
        std::all_of(operands.begin(), operands.end(), [&](size_t i) { return is_partial[node.operands[i]]; });
    for (const TensorId id : node.results) {
      if (!forms.form[id]) continue;
      is_partial[id] = operands.empty() || (available && stays[id]);
      if (is_partial[id]) carries[n].operands = operands;
    }
  }
  return carries;
}

}  // namespace

ShardedEntry place_reductions(ShardedEntry sharded, const Mesh& mesh) {
  std::vector<std::vector<Carry>> carries(sharded.entry.graph.nodes().size());
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    if (mesh.axes()[axis].size <= 1) continue;
    const std::vector<Carry> over_axis = carries_over({sharded, mesh, static_cast<int>(axis)});
    for (size_t n = 0; n < carries.size(); ++n)
      if (!over_axis[n].operands.empty()) carries[n].push_back(over_axis[n]);
  }
  sharded.carries = std::move(carries);
  return sharded;
}

}  // namespace mtfc
