#include "core/plan/reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/diagnostics/error.h"
#include "core/op_rules/pieces.h"
#include "core/plan/relations.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

// The most shardings that a tensor may be offered.
constexpr size_t kMostShardings = 2048;

class Propagation {
 public:
  Propagation(const FlatGraph& graph, const Seeds& seeds,
              const IndexedBy<FlatNodeId, std::vector<Factor>>& factors, AxisLists lists, const Mesh& mesh)
      : graph_(graph), seeds_(seeds), factors_(factors), mesh_(mesh), reach_{std::move(lists), {}, {}} {}

  Reach run() {
    for (const FlatTensorId id : graph_.tensors.ids()) reach_.dims.push_back(first_lists(id));
    reach_.partial = IndexedBy<FlatTensorId, uint64_t>(graph_.tensors.size(), 0);
    if (std::find(seeds_.closed.begin(), seeds_.closed.end(), false) != seeds_.closed.end()) spread();
    // Operands come before what reads them, and the parts of a loop before the loop.
    for (const FlatNodeId n : graph_.nodes.ids()) add_partial(n);
    return std::move(reach_);
  }

 private:
  void spread() {
    const std::vector<DimRelation> relations = dim_relations(graph_, factors_);
    do {
      changed_ = false;
      for (const DimRelation& relation : relations) visit(relation);
      for (size_t i = relations.size(); i-- > 0;) visit(relations[i]);
    } while (changed_);
  }

  std::vector<ListSet> first_lists(FlatTensorId id) {
    std::vector<ListSet> lists(graph_.type(id).dims.size(), 0);
    if (!seeds_.offered[id].empty()) lists = seeds_.offered[id];
    if (seeds_.fixed[id])
      for (size_t d = 0; d < lists.size(); ++d)
        lists[d] |= reach_.lists.with_prefixes(seeds_.fixed[id]->dims[d]);
    return lists;
  }

  void add(FlatTensorId id, size_t dim, ListSet lists) {
    if (seeds_.closed[id]) return;
    ListSet& own = reach_.dims[id][dim];
    if ((own | lists) == own) return;
    own |= lists;
    changed_ = true;
  }

  void visit(const DimRelation& relation) {
    if (!relation.is_one) return carry_over(relation);
    ListSet lists = 0;
    for (const auto& [tensor, dim] : relation.dims) lists |= reach_.dims[tensor][dim];
    for (const auto& [tensor, dim] : relation.dims) add(tensor, dim, lists);
  }

  // A list passes a dimension that is cut or merged if all elements stay on their devices.
  void carry_over(const DimRelation& relation) {
    const FlatNode& node = graph_.nodes[relation.node];
    const FlatTensorId in = graph_.flat(node, node.node->operands[0]);
    const FlatTensorId out = graph_.flat(node, node.node->results[0]);
    for (const auto& [tensor, dim] : relation.dims) carry_over(tensor, dim, tensor == in ? out : in);
  }

  void carry_over(FlatTensorId from, size_t dim, FlatTensorId to) {
    const Dims &dims = graph_.type(from).dims, &wanted = graph_.type(to).dims;
    for (const AxisList& list : reach_.lists.in(reach_.dims[from][dim])) {
      if (list.empty()) continue;
      Sharding split = replicated(dims.size()), carried;
      split.dims[dim] = list;
      if (!carries(dims, split, wanted, mesh_, carried)) continue;
      for (size_t d = 0; d < wanted.size(); ++d)
        if (!carried.dims[d].empty()) add(to, d, reach_.lists.with_prefixes(carried.dims[d]));
    }
  }

  // -- partial sums --

  void add_partial(FlatNodeId n) {
    const FlatNode& node = graph_.nodes[n];
    if (node.node->kind == NodeKind::kLoop) {
      const GraphLoop& loop = *node.node->loop;
      for (size_t i = loop.carried(); i < node.node->results.size(); ++i)
        reach_.partial[graph_.flat(node, node.node->results[i])] = partial_of(graph_.given(node, i));
      return;
    }
    if (!node.operates()) return;
    uint64_t axes = 0;
    for (const Factor& factor : factors_[n])
      if (factor.kind == Factor::Kind::kReduce && factor.reduce == ReduceKind::kSum)
        axes |= axes_of(node, factor);
    for (const std::vector<int>& set : linear_sets(*graph_.scopes[node.scope].graph, *node.node))
      axes |= common_partial(node, set);
    for (const TensorId id : node.node->results) reach_.partial[graph_.flat(node, id)] = axes;
  }

  // The axes over which all operands of the set may be partial.
  uint64_t common_partial(const FlatNode& node, const std::vector<int>& set) const {
    uint64_t common = ~uint64_t{0};
    bool any = false;
    for (const int i : set) {
      if (static_cast<size_t>(i) >= node.node->operands.size()) return 0;
      const TensorId operand = node.node->operands[static_cast<size_t>(i)];
      if (graph_.scopes[node.scope].graph->constant_value(operand) == 0.0) continue;
      common &= partial_of(graph_.flat(node, operand));
      any = true;
    }
    return any ? common : 0;
  }

  uint64_t partial_of(FlatTensorId id) const { return seeds_.fixed[id] ? 0 : reach_.partial[id]; }

  uint64_t axes_of(const FlatNode& node, const Factor& factor) const {
    uint64_t axes = 0;
    for (size_t i = 0; i < factor.operands.size(); ++i) {
      if (factor.operands[i] < 0) continue;
      const FlatTensorId operand = graph_.flat(node, node.node->operands[i]);
      for (const AxisList& list :
           reach_.lists.in(reach_.dims[operand][static_cast<size_t>(factor.operands[i])]))
        for (const int axis : list)
          if (axis < 64) axes |= uint64_t{1} << axis;
    }
    return axes;
  }

  const FlatGraph& graph_;
  const Seeds& seeds_;
  const IndexedBy<FlatNodeId, std::vector<Factor>>& factors_;
  const Mesh& mesh_;
  Reach reach_;
  bool changed_ = false;
};

}  // namespace

size_t AxisLists::number(const AxisList& axes) {
  const auto at = std::find(lists_.begin(), lists_.end(), axes);
  if (at != lists_.end()) return static_cast<size_t>(at - lists_.begin());
  if (lists_.size() == 64)
    throw UserError("rules and annotations split dimensions in more than 60 different ways",
                    "name the axes of a dimension in the same order everywhere");
  lists_.push_back(axes);
  return lists_.size() - 1;
}

ListSet AxisLists::with_prefixes(const AxisList& axes) {
  ListSet set = 0;
  for (size_t length = axes.size(); length > 0; --length)
    set |= ListSet{1} << number({axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(length)});
  return set;
}

std::vector<AxisList> AxisLists::in(ListSet set) const {
  std::vector<AxisList> found;
  for (size_t i = 1; i < lists_.size(); ++i)
    if ((set >> i & 1) != 0) found.push_back(lists_[i]);
  std::stable_sort(found.begin(), found.end(),
                   [](const AxisList& a, const AxisList& b) { return a.size() > b.size(); });
  found.emplace_back();
  return found;
}

Reach propagate(const FlatGraph& graph, const Seeds& seeds,
                const IndexedBy<FlatNodeId, std::vector<Factor>>& factors, AxisLists lists,
                const Mesh& mesh) {
  return Propagation(graph, seeds, factors, std::move(lists), mesh).run();
}

std::vector<Sharding> shardings_of(const std::vector<ListSet>& dims, const AxisLists& lists, const Mesh& mesh,
                                   const std::string& name) {
  std::vector<Sharding> found = {replicated(dims.size())};
  for (size_t d = 0; d < dims.size(); ++d) {
    std::vector<Sharding> longer;
    for (const AxisList& list : lists.in(dims[d]))
      for (const Sharding& before : found) {
        Sharding next = before;
        next.dims[d] = list;
        if (uses_axis_twice(next)) continue;
        longer.push_back(std::move(next));
      }
    found = std::move(longer);
    if (found.size() > kMostShardings)
      throw UserError(fmt::format("'{}' can be split in more than {} ways", name, kMostShardings),
                      "annotate it, or tensors near it, so that fewer axes reach its dimensions");
  }
  const auto parts = [&](const Sharding& sharding) { return mesh.size(split_axes(sharding)); };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Sharding& a, const Sharding& b) { return parts(a) > parts(b); });
  return found;
}

}  // namespace mtfc
