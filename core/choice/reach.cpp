#include "core/choice/reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/diagnostics/error.h"
#include "core/op_rules/pieces.h"
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
    do {
      changed_ = false;
      for (size_t n = 0; n < graph_.nodes.size(); ++n) visit(FlatNodeId(n));
      for (size_t n = graph_.nodes.size(); n-- > 0;) visit(FlatNodeId(n));
    } while (changed_);
    do {
      changed_ = false;
      for (const FlatNodeId n : graph_.nodes.ids()) add_partial(n);
    } while (changed_);
    return std::move(reach_);
  }

 private:
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

  // Two dimensions that are one: what reaches either of them reaches the other.
  void join(FlatTensorId a, size_t dim_a, FlatTensorId b, size_t dim_b) {
    add(a, dim_a, reach_.dims[b][dim_b]);
    add(b, dim_b, reach_.dims[a][dim_a]);
  }

  void visit(FlatNodeId n) {
    const FlatNode& node = graph_.nodes[n];
    if (node.node->kind == NodeKind::kLoop)
      visit_loop(node);
    else if (node.operates() && node.node->op->family == Family::kRelabel)
      visit_relabelling(node);
    else if (node.operates())
      for (const Factor& factor : factors_[n]) visit_factor(node, factor);
  }

  void visit_factor(const FlatNode& node, const Factor& factor) {
    if (factor.kind == Factor::Kind::kWhole && node.node->op->split_rule == kNoSplitRule) return;
    ListSet lists = 0;
    const auto at_each = [&](auto action) {
      for (size_t i = 0; i < factor.operands.size(); ++i)
        if (factor.operands[i] >= 0)
          action(graph_.flat(node, node.node->operands[i]), static_cast<size_t>(factor.operands[i]));
      for (size_t i = 0; i < factor.results.size(); ++i)
        if (factor.results[i] >= 0)
          action(graph_.flat(node, node.node->results[i]), static_cast<size_t>(factor.results[i]));
    };
    at_each([&](FlatTensorId id, size_t dim) { lists |= reach_.dims[id][dim]; });
    at_each([&](FlatTensorId id, size_t dim) { add(id, dim, lists); });
  }

  // Dimensions of equal size at the same place are one. Where a dimension is cut or merged, a list goes over if the
  // elements stay where they are.
  void visit_relabelling(const FlatNode& node) {
    const FlatTensorId in = graph_.flat(node, node.node->operands[0]);
    const FlatTensorId out = graph_.flat(node, node.node->results[0]);
    const Dims &from = graph_.type(in).dims, &to = graph_.type(out).dims;
    for (const ReshapeGroup& group : reshape_groups(from, to)) {
      if (group.from_end - group.from_begin == 1 && group.to_end - group.to_begin == 1) {
        join(in, group.from_begin, out, group.to_begin);
        continue;
      }
      for (size_t d = group.from_begin; d < group.from_end; ++d) carry_over(in, d, out);
      for (size_t d = group.to_begin; d < group.to_end; ++d) carry_over(out, d, in);
    }
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

  void visit_loop(const FlatNode& node) {
    for (size_t i = 0; i < node.node->operands.size(); ++i) {
      const FlatTensorId operand = graph_.flat(node, node.node->operands[i]);
      for (const FlatTensorId leaf : graph_.leaves(node, i)) join_all(operand, leaf);
      if (i < node.node->loop->carried()) join_all(operand, graph_.flat(node, node.node->results[i]));
    }
    for (size_t i = 0; i < node.node->results.size(); ++i)
      join_all(graph_.flat(node, node.node->results[i]), graph_.given(node, i));
  }

  void join_all(FlatTensorId a, FlatTensorId b) {
    for (size_t d = 0; d < reach_.dims[a].size(); ++d) join(a, d, b, d);
  }

  // -- partial sums --

  void make_partial(FlatTensorId id, uint64_t axes) {
    if ((reach_.partial[id] | axes) == reach_.partial[id]) return;
    reach_.partial[id] |= axes;
    changed_ = true;
  }

  void add_partial(FlatNodeId n) {
    const FlatNode& node = graph_.nodes[n];
    if (node.node->kind == NodeKind::kLoop) {
      const GraphLoop& loop = *node.node->loop;
      for (size_t i = loop.carried(); i < node.node->results.size(); ++i)
        make_partial(graph_.flat(node, node.node->results[i]), partial_of(graph_.given(node, i)));
      return;
    }
    if (!node.operates()) return;
    uint64_t axes = 0;
    for (const Factor& factor : factors_[n])
      if (factor.kind == Factor::Kind::kReduce && factor.reduce == ReduceKind::kSum)
        axes |= axes_of(node, factor);
    for (const std::vector<int>& set : linear_sets(*node.node->op, node.node->operands.size()))
      axes |= common_partial(node, set);
    for (const TensorId id : node.node->results) make_partial(graph_.flat(node, id), axes);
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
