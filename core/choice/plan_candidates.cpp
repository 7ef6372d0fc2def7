#include "core/choice/plan_candidates.h"

#include <algorithm>
#include <utility>

#include "core/tensors/name_pattern.h"

namespace mtfc {
namespace {

// The sharding of a tensor that the layout or another entry point decides; nothing for a tensor that is free.
std::optional<Sharding> fixed_sharding(const FlatGraph& graph, FlatTensorId id,
                                       const PlanConditions& conditions) {
  const auto& [tensor, scope] = graph.tensors[id];
  const Layout& layout = conditions.layout;
  const Dims& dims = tensor->type.dims;
  if (tensor->annotation) return tensor->annotation->sharding;
  if (scope > 0) return std::nullopt;
  const NodeKind kind = graph.scopes[scope].graph->node(tensor->node).kind;
  if (kind == NodeKind::kVariable)
    if (const auto known = conditions.variables.find(tensor->name); known != conditions.variables.end())
      return known->second;
  if (conditions.split.names.contains(tensor->name) && !conditions.split.axes.empty()) {
    Sharding sharding = legal_sharding_by_rules(layout, dims);
    split_state(conditions.split, dims, layout.mesh, sharding);
    return sharding;
  }
  if (kind == NodeKind::kInput && (!layout.propagate || has_rule(layout, dims)))
    return legal_sharding_by_rules(layout, dims);
  return std::nullopt;
}

ListSet offered_by_rules(const Layout& layout, const Dim& dim, const std::string& tensor, AxisLists& lists) {
  ListSet offered = 0;
  const auto offer = [&](AxisList axes) {
    std::erase_if(axes, [&](int axis) { return layout.mesh.size(axis) == 1; });
    offered |= lists.with_prefixes(axes);
  };
  if (const Rule* rule = find_rule(layout, dim.name)) offer(rule->axes);
  for (const auto& [rule, pattern] : layout.limited_rules)
    if (rule.dim == dim.name && matches_name(pattern, tensor)) offer(rule.axes);
  return offered;
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

}  // namespace

PlanCandidates find_candidates(const FlatGraph& graph, const PlanConditions& conditions) {
  const Layout& layout = conditions.layout;
  Seeds seeds;
  AxisLists lists;
  for (const FlatTensorId id : graph.tensors.ids()) {
    const Tensor& tensor = *graph.tensors[id].tensor;
    seeds.fixed.push_back(fixed_sharding(graph, id, conditions));
    seeds.closed.push_back(!layout.propagate && tensor.from_model);
    std::vector<ListSet> offered;
    for (const Dim& dim : tensor.type.dims)
      offered.push_back(offered_by_rules(layout, dim, tensor.name, lists) |
                        offered_to_all(dim, conditions.offered, layout.mesh, lists));
    seeds.offered.push_back(std::move(offered));
  }
  PlanCandidates found;
  for (const FlatNode& node : graph.nodes) found.factors.push_back(factors_of(graph, node));
  found.reach = propagate(graph, seeds, found.factors, std::move(lists), layout.mesh);
  found.fixed = std::move(seeds.fixed);
  return found;
}

}  // namespace mtfc
