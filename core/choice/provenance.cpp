#include "core/choice/provenance.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/choice/relations.h"

namespace mtfc {
namespace {

// The shardings in which the plan holds each tensor, its own one first, in the order of FlatGraph::tensors.
void add_held(const ShardedEntry& plan, IndexedBy<FlatTensorId, std::vector<Sharding>>& held) {
  for (const TensorId id : plan.entry.graph.tensors().ids()) {
    std::vector<Sharding> forms = {plan.shardings[id]};
    for (const PlannedForm& form : plan.forms[id]) {
      forms.push_back(form.sharding);
      forms.push_back(form.from);
    }
    held.push_back(std::move(forms));
  }
  for (const ShardedEntry& part : plan.parts) add_held(part, held);
}

class Origins {
 public:
  Origins(const ShardedEntry& plan, const PlanConditions& conditions)
      : layout_(conditions.layout),
        variables_(conditions.variables),
        graph_(flat_graph(plan.entry.graph)),
        candidates_(find_candidates(graph_, conditions)),
        relations_(dim_relations(graph_, candidates_.factors)),
        at_(graph_.tensors.size(), std::vector<size_t>()) {
    add_held(plan, held_);
    check_invariant(held_.size() == graph_.tensors.size(), "a plan is not that of its graph");
    for (size_t r = 0; r < relations_.size(); ++r)
      for (const auto& [tensor, dim] : relations_[r].dims) at_[tensor].push_back(r);
  }

  TensorOrigins of(const std::string& name) const {
    TensorOrigins origins;
    const FlatTensorId id = find(name);
    if (id == FlatTensorId()) return origins;
    origins.is_known = true;
    origins.type = graph_.type(id);
    origins.sharding = held_[id].front();
    origins.is_fixed = candidates_.fixed[id].has_value();
    origins.annotation = graph_.tensors[id].tensor->annotation;
    origins.is_decided = !origins.annotation && is_decided(id);
    for (size_t d = 0; d < origins.type.dims.size(); ++d) {
      const AxisList& axes = origins.sharding.dims[d];
      if (axes.empty()) continue;
      origins.axes.push_back(origin({id, d}, axes));
    }
    origins.candidates =
        shardings_of(candidates_.reach.dims[id], candidates_.reach.lists, layout_.mesh, name);
    return origins;
  }

 private:
  FlatTensorId find(const std::string& name) const {
    for (size_t s = 0; s < graph_.scopes.size(); ++s)
      if (const TensorId id = graph_.scopes[s].graph->find(name); id != kNoTensor)
        return graph_.scopes[s].flat(id);
    return {};
  }

  // True if the layout itself splits the dimension over the first of the axes.
  bool begins_at(const TensorDim& at, const AxisList& axes) const {
    if (candidates_.fixed[at.tensor]) {
      const AxisList& own = candidates_.fixed[at.tensor]->dims[at.dim];
      return contains(own, axes.front());
    }
    const Rule* rule = find_rule(layout_, graph_.type(at.tensor).dims[at.dim].name);
    return rule && contains(rule->axes, axes.front());
  }

  bool is_split(const TensorDim& at, const AxisList& axes) const {
    const std::vector<Sharding>& held = held_[at.tensor];
    return std::any_of(held.begin(), held.end(), [&](const Sharding& sharding) {
      return contains(sharding.dims[at.dim], axes.front());
    });
  }

  bool may_be_split(const TensorDim& at, const AxisList& axes) const {
    const std::vector<AxisList> lists = candidates_.reach.lists.in(candidates_.reach.dims[at.tensor][at.dim]);
    return std::any_of(lists.begin(), lists.end(),
                       [&](const AxisList& list) { return contains(list, axes.front()); });
  }

  AxisOrigin origin(const TensorDim& end, const AxisList& axes) const {
    AxisOrigin origin{graph_.type(end.tensor).dims[end.dim].name, axes, {}, nullptr, false};
    std::vector<Visit> visits = visits_from(end, axes, true);
    int begin = begin_of(visits, axes);
    if (begin < 0) {
      visits = visits_from(end, axes, false);
      begin = begin_of(visits, axes);
    }
    if (begin < 0) return origin;
    const FlatTensorId first = visits[static_cast<size_t>(begin)].at.tensor;
    origin.annotation = graph_.tensors[first].tensor->annotation;
    origin.is_decided = is_decided(first);
    std::string operation;
    for (int v = begin; v >= 0;) {
      const Visit& visit = visits[static_cast<size_t>(v)];
      origin.way.push_back({name(visit.at.tensor), operation});
      if (visit.before >= 0) operation = kind(relations_[visit.relation].node);
      v = visit.before;
    }
    return origin;
  }

  // A dimension that was reached on the way back from the end, and from where.
  struct Visit {
    TensorDim at;
    int before = -1;
    size_t relation = 0;
  };

  // A way through tensors that the model names is the easiest to follow.
  int length(FlatTensorId id) const { return graph_.tensors[id].tensor->from_model ? 1 : 4; }

  // The dimensions by which the axes may have come to `end`, the nearest first: only of tensors that the plan splits
  // so, if `as_planned`, or else of those that they can reach. A tensor of fixed sharding ends a way.
  std::vector<Visit> visits_from(const TensorDim& end, const AxisList& axes, bool as_planned) const {
    std::vector<Visit> visits;
    std::set<std::pair<FlatTensorId, size_t>> known;
    std::multimap<int, Visit> open = {{0, {end}}};  // by length of the way
    while (!open.empty()) {
      const auto [far, visit] = *open.begin();
      open.erase(open.begin());
      const TensorDim at = visit.at;
      if (!known.emplace(at.tensor, at.dim).second) continue;
      const int number = static_cast<int>(visits.size());
      visits.push_back(visit);
      if (candidates_.fixed[at.tensor]) continue;
      for (const size_t r : at_[at.tensor]) {
        const std::vector<TensorDim>& related = relations_[r].dims;
        if (std::find(related.begin(), related.end(), at) == related.end()) continue;
        for (const TensorDim& next : related)
          if (as_planned ? is_split(next, axes) : may_be_split(next, axes))
            open.emplace(far + length(next.tensor), Visit{next, number, r});
      }
    }
    return visits;
  }

  // The nearest dimension that the layout itself splits, of a tensor of fixed sharding where there is one; or -1.
  int begin_of(const std::vector<Visit>& visits, const AxisList& axes) const {
    for (const bool is_fixed : {true, false})
      for (size_t v = 0; v < visits.size(); ++v)
        if (candidates_.fixed[visits[v].at.tensor].has_value() == is_fixed && begins_at(visits[v].at, axes))
          return static_cast<int>(v);
    return -1;
  }

  // Variables that rules split are among the decided ones too.
  bool is_decided(FlatTensorId id) const {
    return variables_.contains(name(id)) && !has_rule(layout_, graph_.type(id).dims);
  }
  const std::string& name(FlatTensorId id) const { return graph_.tensors[id].tensor->name; }
  std::string kind(FlatNodeId n) const {
    const Node& node = *graph_.nodes[n].node;
    return node.kind == NodeKind::kLoop ? "loop" : std::string(node.op->signature.name);
  }

  const Layout& layout_;
  const std::map<std::string, Sharding, std::less<>>& variables_;
  FlatGraph graph_;
  PlanCandidates candidates_;
  std::vector<DimRelation> relations_;
  IndexedBy<FlatTensorId, std::vector<size_t>> at_;  // relations of each tensor
  IndexedBy<FlatTensorId, std::vector<Sharding>> held_;
};

}  // namespace

TensorOrigins origins_of(const ShardedEntry& plan, const PlanConditions& conditions,
                         const std::string& tensor) {
  return Origins(plan, conditions).of(tensor);
}

}  // namespace mtfc
