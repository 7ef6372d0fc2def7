#include "core/plan/plan_candidates.h"

#include <algorithm>
#include <utility>

#include "core/graph/reachability.h"
#include "core/rewrite/regather.h"

namespace mtfc {
namespace {

// The variable that the tensor is a copy of, to be gathered again (core/rewrite/regather.h); or nullptr.
const Tensor* regathered_variable(const Graph& graph, const Tensor& tensor) {
  if (!tensor.name.ends_with(kAgain)) return nullptr;
  const Node& node = graph.node(tensor.node);
  if (node.kind != NodeKind::kOp || node.op->traits.copies != Copies::kOperand) return nullptr;
  const Tensor& copied = graph.tensor(node.operands[0]);
  return graph.node(copied.node).kind == NodeKind::kVariable ? &copied : nullptr;
}

// The sharding that an earlier plan gives the tensor, or the tensor that it is a copy of; or nullptr.
const Sharding* kept_sharding(const Tensor& tensor, const Shardings* kept) {
  if (!kept) return nullptr;
  std::string_view name = tensor.name;
  if (name.ends_with(kAgain)) name.remove_suffix(kAgain.size());
  const auto at = kept->find(name);
  return at != kept->end() && at->second.dims.size() == tensor.type.dims.size() ? &at->second : nullptr;
}

// Marks the tensors that rules between parts may split: activations. Constants are made as they are needed.
IndexedBy<FlatTensorId, bool> activations(const FlatGraph& graph) {
  IndexedBy<FlatTensorId, bool> found;
  for (const FlatScope& scope : graph.scopes) {
    const PerTensor<bool> constant = made_of_constants(*scope.graph);
    for (const TensorId id : scope.graph->tensors().ids()) {
      const Node& node = scope.graph->producer(id);
      found.push_back(node.kind != NodeKind::kVariable && node.origin->phase != Phase::kUpdate &&
                      !constant[id]);
    }
  }
  return found;
}

// The axes that some of the lists have.
AxisList axes_in(const AxisLists& lists, const std::vector<ListSet>& dims) {
  AxisList axes;
  for (const ListSet set : dims)
    for (const AxisList& list : lists.in(set))
      for (const int axis : list)
        if (!contains(axes, axis)) axes.push_back(axis);
  return axes;
}

// The sharding of a tensor that the layout, another entry point or an earlier plan decides; nothing for a tensor that
// is free.
std::optional<Sharding> fixed_sharding(const FlatGraph& graph, FlatTensorId id,
                                       const PlanConditions& conditions) {
  const auto& [tensor, scope] = graph.tensors[id];
  const Layout& layout = conditions.layout;
  const Dims& dims = tensor->type.dims;
  const bool is_state = scope == 0 && is_split_state(conditions.split, tensor->name);
  const SharedAnnotation& annotation = tensor->annotation;
  if (annotation) return stated_sharding(layout, annotation.get(), dims, conditions.split, is_state);
  if (const Sharding* kept = scope == 0 ? kept_sharding(*tensor, conditions.kept) : nullptr) {
    const TensorAnnotation stated{*kept, tensor->name, {}};
    return stated_sharding(layout, &stated, dims, conditions.split, is_state);
  }
  const Graph& own = *graph.scopes[scope].graph;
  const NodeKind kind = own.node(tensor->node).kind;
  if (scope == 0) {
    const Tensor* variable = kind == NodeKind::kVariable ? tensor : regathered_variable(own, *tensor);
    if (variable)
      if (const auto known = conditions.variables.find(variable->name); known != conditions.variables.end())
        return known->second;
    if (is_state) return stated_sharding(layout, nullptr, dims, conditions.split, true);
  }
  const bool is_input = scope == 0 && kind == NodeKind::kInput;
  const bool is_named = !layout.propagate && tensor->from_model && !tensor->offered;
  if (has_rule(layout, dims) ? is_input || is_named : is_input && !layout.propagate)
    return legal_sharding_by_rules(layout, dims);
  return std::nullopt;
}

// Inside a loop, a leaf stands for a variable, and a copy of the leaf is to be gathered again. Both are split as the
// variable is, or the plan would gather it once before the loop and keep it whole.
void fix_in_loops(const FlatGraph& graph, const PlanConditions& conditions, Seeds& seeds) {
  const auto is_regathered = [&](FlatTensorId id) {
    const auto& [tensor, scope] = graph.tensors[id];
    return scope == 0 && conditions.split.regathered.contains(tensor->name);
  };
  const auto copies_of = [&](FlatTensorId leaf) {
    const FlatScope& scope = graph.scopes[graph.tensors[leaf].scope];
    std::vector<FlatTensorId> copies;
    for (const FlatNodeId n : scope.nodes) {
      const FlatNode& node = graph.nodes[n];
      if (!node.operates() || node.node->op->traits.copies != Copies::kOperand) continue;
      const FlatTensorId made = graph.flat(node, node.node->results[0]);
      if (graph.flat(node, node.node->operands[0]) == leaf &&
          graph.tensors[made].tensor->name.ends_with(kAgain))
        copies.push_back(made);
    }
    return copies;
  };
  for (const FlatNode& loop : graph.nodes) {
    if (!loop.node->loop) continue;
    for (size_t i = 0; i < loop.node->operands.size(); ++i) {
      const FlatTensorId operand = graph.flat(loop, loop.node->operands[i]);
      if (!seeds.fixed[operand] || !is_regathered(operand)) continue;
      for (const FlatTensorId leaf : graph.leaves(loop, i)) {
        const std::vector<FlatTensorId> copies = copies_of(leaf);
        if (copies.empty()) continue;
        seeds.fixed[leaf] = seeds.fixed[operand];
        for (const FlatTensorId copy : copies) seeds.fixed[copy] = seeds.fixed[operand];
      }
    }
  }
}

ListSet offered_by_rules(const Layout& layout, const Tensor& tensor, size_t dim, AxisLists& lists) {
  ListSet set = 0;
  const auto offer = [&](AxisList axes) {
    std::erase_if(axes, [&](int axis) { return layout.mesh.size(axis) == 1; });
    set |= lists.with_prefixes(axes);
  };
  if (const Rule* rule = find_rule(layout, tensor.type.dims[dim].name)) offer(rule->axes);
  if (tensor.offered)
    for (const DimRule& rule : *tensor.offered)
      if (rule.dim == dim) offer(rule.axes);
  return set;
}

// All lists of different axes, up to the length that is allowed, with shards that are not empty.
void add_lists(const Dim& dim, const OfferedAxes& offered, const Mesh& mesh, AxisList& axes, AxisLists& lists,
               ListSet& set) {
  if (!axes.empty()) set |= lists.with_prefixes(axes);
  if (static_cast<int64_t>(axes.size()) == offered.most_axes) return;
  for (int axis = 0; axis < static_cast<int>(mesh.axes().size()); ++axis) {
    const int64_t parts = mesh.size(axes) * mesh.size(axis);
    if (mesh.size(axis) == 1 || contains(axes, axis) || parts > dim.size) continue;
    if (!offered.allow_uneven && dim.size % parts != 0) continue;
    axes.push_back(axis);
    add_lists(dim, offered, mesh, axes, lists, set);
    axes.pop_back();
  }
}

ListSet offered_to_all(const Dim& dim, const OfferedAxes* offered, const Mesh& mesh, AxisLists& lists) {
  if (!offered) return 0;
  const std::vector<std::string>& dims = offered->dims;
  if (!dims.empty() && std::find(dims.begin(), dims.end(), dim.name) == dims.end()) return 0;
  AxisList axes;
  ListSet set = 0;
  add_lists(dim, *offered, mesh, axes, lists, set);
  return set;
}

std::vector<Factor> factors_of(const FlatGraph& graph, const FlatNode& node) {
  if (!node.operates()) return {};
  const Graph& own = *graph.scopes[node.scope].graph;
  const std::vector<TensorType> operands = own.operand_types(*node.node);
  return node.node->op->roles({node.node->attributes, operands}, own.result_types(*node.node));
}

// How the state is split in each scope: in the parts of a loop, leaves stand for the variables that the loop reads.
std::vector<StateSplit> splits_of_scopes(const FlatGraph& graph, const StateSplit& split) {
  std::vector<StateSplit> splits(graph.scopes.size());
  splits[0] = split;
  for (const FlatNode& loop : graph.nodes) {
    if (!loop.node->loop) continue;
    StateSplit inside = split;
    inside.names.merge(leaves_in_loop(*graph.scopes[loop.scope].graph, *loop.node, splits[loop.scope].names));
    splits[loop.condition] = splits[loop.body] = std::move(inside);
  }
  return splits;
}

// Marks variables, in loops too, and what is made of variables alone.
IndexedBy<FlatTensorId, bool> weights(const FlatGraph& graph) {
  IndexedBy<FlatTensorId, bool> found(graph.tensors.size(), false);
  const auto mark = [&](const FlatNode& node) {
    const auto is_weight = [&](TensorId id) { return bool{found[graph.flat(node, id)]}; };
    const TensorIds& operands = node.node->operands;
    const bool is_made_of =
        node.operates() && !operands.empty() && std::all_of(operands.begin(), operands.end(), is_weight);
    if (node.node->kind == NodeKind::kVariable || is_made_of)
      for (const TensorId id : node.node->results) found[graph.flat(node, id)] = true;
    if (!node.node->loop) return;
    for (size_t i = node.node->loop->carried(); i < operands.size(); ++i)
      if (is_weight(operands[i]))
        for (const FlatTensorId leaf : graph.leaves(node, i)) found[leaf] = true;
  };
  // The parts of a loop come before it, and those of a loop in a loop as well.
  for (int round = 0; round < 3; ++round)
    for (const FlatNode& node : graph.nodes) mark(node);
  return found;
}

void keep_weights_split(const FlatGraph& graph, const Layout& layout, PlanCandidates& found) {
  if (found.firm.empty()) return;
  const IndexedBy<FlatTensorId, bool> is_weight = weights(graph);
  for (const FlatTensorId id : graph.tensors.ids()) {
    AxisList axes = is_weight[id] ? axes_in(found.reach.lists, found.firm[id]) : AxisList();
    std::erase_if(axes, [&](int axis) {
      return std::none_of(layout.between.begin(), layout.between.end(),
                          [&](const Rule& rule) { return contains(rule.axes, axis); });
    });
    found.kept_split.push_back(std::move(axes));
  }
}

PlanCandidates stated_candidates(const FlatGraph& graph, const PlanConditions& conditions) {
  const std::vector<StateSplit> splits = splits_of_scopes(graph, conditions.split);
  PlanCandidates found;
  Seeds seeds;
  AxisLists lists;
  const auto lists_of = [&](const Sharding& sharding) {
    std::vector<ListSet> sets;
    for (const AxisList& axes : sharding.dims) sets.push_back(lists.with_prefixes(axes));
    return sets;
  };
  const IndexedBy<FlatTensorId, bool> is_activation = activations(graph);
  for (const FlatTensorId id : graph.tensors.ids()) {
    const auto& [tensor, scope] = graph.tensors[id];
    const Graph& own = *graph.scopes[scope].graph;
    const NodeKind kind = own.node(tensor->node).kind;
    Sharding stated = rule_sharding(own, *tensor, conditions.layout, splits[scope]);
    if (!conditions.layout.between.empty()) found.firm.push_back(lists_of(stated));
    if (is_activation[id]) split_between(conditions.layout, tensor->type.dims, {}, stated);
    const bool is_leaf = scope == 0 && (kind == NodeKind::kInput || kind == NodeKind::kVariable);
    seeds.fixed.push_back(is_leaf ? std::optional(stated) : std::nullopt);
    seeds.closed.push_back(true);
    seeds.offered.push_back(lists_of(stated));
    found.stated.push_back(std::move(stated));
  }
  for (const FlatNode& node : graph.nodes) found.factors.push_back(factors_of(graph, node));
  found.reach = propagate(graph, seeds, found.factors, std::move(lists), conditions.layout.mesh);
  found.fixed = std::move(seeds.fixed);
  keep_weights_split(graph, conditions.layout, found);
  return found;
}

// Where the axes of the rules between parts reach no other dimension of an activation of the model, they split it, as
// rules for all tensors do.
void split_between_parts(const FlatGraph& graph, const PlanConditions& conditions, const Reach& firm,
                         AxisLists& lists, Seeds& seeds) {
  const Layout& layout = conditions.layout;
  const IndexedBy<FlatTensorId, bool> is_activation = activations(graph);
  for (const FlatTensorId id : graph.tensors.ids()) {
    const Tensor& tensor = *graph.tensors[id].tensor;
    const bool is_annotated = tensor.annotation && !tensor.annotation->is_by_rules;
    if (is_annotated || !is_activation[id]) continue;
    if (!tensor.from_model && !tensor.name.ends_with(kAgain)) continue;
    const Dims& dims = tensor.type.dims;
    const Sharding before = seeds.fixed[id] ? *seeds.fixed[id] : legal_sharding_by_rules(layout, dims);
    Sharding split = before;
    split_between(layout, dims, axes_in(firm.lists, firm.dims[id]), split);
    if (split == before) continue;
    for (const AxisList& axes : split.dims) lists.with_prefixes(axes);
    seeds.fixed[id] = std::move(split);
  }
}

}  // namespace

std::vector<ListSet> PlanCandidates::lists_at(const FlatGraph& graph, const FlatNode& node,
                                              FlatTensorId tensor) const {
  std::vector<ListSet> dims = reach.dims[tensor];
  if (firm.empty() || dims == firm[tensor]) return dims;
  const AxisList used = firm_axes(graph, node);
  for (size_t d = 0; d < dims.size(); ++d) {
    const AxisList own = axes_in(reach.lists, {firm[tensor][d]});
    for (size_t number = 1; number < 64; ++number) {
      const ListSet one = ListSet{1} << number;
      if ((dims[d] & one) == 0 || (firm[tensor][d] & one) != 0) continue;
      const AxisList& list = reach.lists[number];
      // In length/context+model, whose context is firm, the rule between parts has only added model.
      if (std::any_of(list.begin(), list.end(),
                      [&](int axis) { return contains(used, axis) && !contains(own, axis); }))
        dims[d] &= ~one;
    }
  }
  return dims;
}

AxisList PlanCandidates::between_at(const FlatGraph& graph, const FlatNode& node) const {
  AxisList axes;
  if (firm.empty()) return axes;
  for (const TensorIds* ids : {&node.node->operands, &node.node->results})
    for (const TensorId id : *ids)
      for (const int axis : axes_in(reach.lists, reach.dims[graph.flat(node, id)]))
        if (!contains(axes, axis)) axes.push_back(axis);
  const AxisList used = firm_axes(graph, node);
  std::erase_if(axes, [&](int axis) { return contains(used, axis); });
  return axes;
}

AxisList PlanCandidates::firm_axes(const FlatGraph& graph, const FlatNode& node) const {
  AxisList axes;
  for (const TensorIds* ids : {&node.node->operands, &node.node->results})
    for (const TensorId id : *ids)
      for (const int axis : axes_in(reach.lists, firm[graph.flat(node, id)]))
        if (!contains(axes, axis)) axes.push_back(axis);
  return axes;
}

PlanCandidates find_candidates(const FlatGraph& graph, const PlanConditions& conditions) {
  if (conditions.by_rules) return stated_candidates(graph, conditions);
  const Layout& layout = conditions.layout;
  Seeds seeds;
  AxisLists lists;
  for (const FlatTensorId id : graph.tensors.ids()) {
    const Tensor& tensor = *graph.tensors[id].tensor;
    seeds.fixed.push_back(fixed_sharding(graph, id, conditions));
    seeds.closed.push_back(!layout.propagate && tensor.from_model);
    std::vector<ListSet> offered;
    for (size_t d = 0; d < tensor.type.dims.size(); ++d)
      offered.push_back(offered_by_rules(layout, tensor, d, lists) |
                        offered_to_all(tensor.type.dims[d], conditions.offered, layout.mesh, lists));
    seeds.offered.push_back(std::move(offered));
  }
  fix_in_loops(graph, conditions, seeds);
  PlanCandidates found;
  for (const FlatNode& node : graph.nodes) found.factors.push_back(factors_of(graph, node));
  if (!layout.between.empty()) {
    Reach firm = propagate(graph, seeds, found.factors, lists, layout.mesh);
    lists = firm.lists;  // with the same numbers
    split_between_parts(graph, conditions, firm, lists, seeds);
    found.firm = std::move(firm.dims);
  }
  found.reach = propagate(graph, seeds, found.factors, std::move(lists), layout.mesh);
  found.fixed = std::move(seeds.fixed);
  keep_weights_split(graph, layout, found);
  return found;
}

}  // namespace mtfc
