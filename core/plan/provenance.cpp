#include "core/plan/provenance.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/plan/relations.h"

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

bool is_annotated(const Stated& tensor) {
  return tensor.stated.annotation && !tensor.stated.annotation->is_by_rules;
}

FixedBy by_annotation(const TensorAnnotation& annotation) {
  return {FixedBy::Kind::kAnnotation, annotation.pattern, annotation.location};
}

class Origins {
 public:
  Origins(const ShardedEntry& plan, const PlanConditions& conditions)
      : layout_(conditions.layout),
        split_(conditions.split),
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
    origins.fixed = fixed_by(known(id));
    for (size_t d = 0; d < origins.type.dims.size(); ++d) {
      const size_t first = origins.axes.size();
      for (const int axis : origins.sharding.dims[d]) {
        AxisOrigin own = origin({id, d}, axis);
        if (origins.axes.size() > first && origins.axes.back().path == own.path)
          origins.axes.back().axes.push_back(axis);
        else
          origins.axes.push_back(std::move(own));
      }
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

  const Tensor& tensor(FlatTensorId id) const { return *graph_.tensors[id].tensor; }
  const std::string& dim_name(const TensorDim& at) const { return graph_.type(at.tensor).dims[at.dim].name; }

  // True if nothing about the tensor was to be chosen.
  bool is_fixed(FlatTensorId id) const {
    return candidates_.fixed[id].has_value() || (!layout_.propagate && tensor(id).from_model);
  }

  Stated known(FlatTensorId id) const {
    Stated known{layout_, graph_.type(id).dims, {tensor(id).annotation, tensor(id).offered}};
    known.is_state = is_split_state(split_, name(id));
    // A plan takes variables from another entry point where neither the layout nor the model says how they are split.
    known.is_decided =
        layout_.propagate && variables_.contains(name(id)) && !has_rule(layout_, graph_.type(id).dims);
    known.is_chosen = !is_fixed(id);
    return known;
  }

  // True if the layout itself splits the dimension over the axis.
  bool begins_at(const TensorDim& at, int axis) const {
    if (const std::optional<Sharding>& fixed = candidates_.fixed[at.tensor])
      return contains(fixed->dims[at.dim], axis);
    return axis_fixed_by_rule(known(at.tensor), at.dim, axis).kind != FixedBy::Kind::kNothing;
  }

  bool is_split(const TensorDim& at, int axis) const {
    const std::vector<Sharding>& held = held_[at.tensor];
    return std::any_of(held.begin(), held.end(),
                       [&](const Sharding& sharding) { return contains(sharding.dims[at.dim], axis); });
  }

  bool may_be_split(const TensorDim& at, int axis) const {
    const std::vector<AxisList> lists = candidates_.reach.lists.in(candidates_.reach.dims[at.tensor][at.dim]);
    return std::any_of(lists.begin(), lists.end(),
                       [&](const AxisList& list) { return contains(list, axis); });
  }

  AxisOrigin origin(const TensorDim& end, int axis) const {
    AxisOrigin origin{dim_name(end), {axis}, {}, {}};
    std::vector<Visit> visits = visits_from(end, axis, true);
    int begin = begin_of(visits, axis);
    if (begin < 0) {
      visits = visits_from(end, axis, false);
      begin = begin_of(visits, axis);
    }
    if (begin < 0) return origin;
    const TensorDim& first = visits[static_cast<size_t>(begin)].at;
    origin.fixed = axis_fixed_by(known(first.tensor), first.dim, axis);
    std::string operation;
    for (int v = begin; v >= 0;) {
      const Visit& visit = visits[static_cast<size_t>(v)];
      origin.path.push_back({name(visit.at.tensor), operation});
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

  // A path through tensors that the model names is the easiest to follow, and one through gradients the hardest.
  int length(FlatTensorId id) const {
    if (tensor(id).from_model) return 1;
    const FlatTensor& flat = graph_.tensors[id];
    const Node& maker = graph_.scopes[flat.scope].graph->node(flat.tensor->node);
    return maker.origin->phase == Phase::kForward ? 4 : 16;
  }

  // The dimensions by which the axis may have come to `end`, the nearest first: only of tensors that the plan splits
  // so, if `as_planned`, or else of those that the axis can reach. A path ends at a tensor whose sharding is fixed
  // before the plan is chosen. It leads on through other tensors, even where rules decide the form that is kept: they
  // may be made in another.
  std::vector<Visit> visits_from(const TensorDim& end, int axis, bool as_planned) const {
    std::vector<Visit> visits;
    std::set<std::pair<FlatTensorId, size_t>> known;
    std::set<size_t> passed;  // relations that are one: what is nearest has passed them first
    std::multimap<int, Visit> open = {{0, {end}}};  // by length of the path
    while (!open.empty()) {
      const auto [far, visit] = *open.begin();
      open.erase(open.begin());
      const TensorDim at = visit.at;
      if (!known.emplace(at.tensor, at.dim).second) continue;
      const int number = static_cast<int>(visits.size());
      visits.push_back(visit);
      if (number > 0 && candidates_.fixed[at.tensor]) continue;
      for (const size_t r : at_[at.tensor]) {
        const DimRelation& relation = relations_[r];
        if (std::find(relation.dims.begin(), relation.dims.end(), at) == relation.dims.end()) continue;
        if (relation.is_one && !passed.insert(r).second) continue;
        for (const TensorDim& next : relation.dims) {
          // The dimensions of one tensor that an operation cuts or merges are not related to each other.
          if (known.contains({next.tensor, next.dim}) || (!relation.is_one && next.tensor == at.tensor))
            continue;
          if (as_planned ? is_split(next, axis) : may_be_split(next, axis))
            open.emplace(far + length(next.tensor), Visit{next, number, r});
        }
      }
    }
    return visits;
  }

  // The nearest dimension that the layout itself splits, of a tensor of fixed sharding where there is one; or -1.
  int begin_of(const std::vector<Visit>& visits, int axis) const {
    for (const bool fixed : {true, false})
      for (size_t v = 0; v < visits.size(); ++v)
        if (is_fixed(visits[v].at.tensor) == fixed && begins_at(visits[v].at, axis))
          return static_cast<int>(v);
    return -1;
  }

  const std::string& name(FlatTensorId id) const { return tensor(id).name; }
  std::string kind(FlatNodeId n) const {
    const Node& node = *graph_.nodes[n].node;
    return node.kind == NodeKind::kLoop ? "loop" : std::string(node.op->signature.name);
  }

  const Layout& layout_;
  const StateSplit& split_;
  const Shardings& variables_;
  FlatGraph graph_;
  PlanCandidates candidates_;
  std::vector<DimRelation> relations_;
  IndexedBy<FlatTensorId, std::vector<size_t>> at_;  // relations of each tensor
  IndexedBy<FlatTensorId, std::vector<Sharding>> held_;
};

}  // namespace

FixedBy axis_fixed_by(const Stated& tensor, size_t dim, int axis) {
  const SharedAnnotation& annotation = tensor.stated.annotation;
  if (is_annotated(tensor) && contains(annotation->sharding.dims[dim], axis))
    return by_annotation(*annotation);
  if (FixedBy rule = axis_fixed_by_rule(tensor, dim, axis); rule.kind != FixedBy::Kind::kNothing) return rule;
  if (tensor.is_state) return {FixedBy::Kind::kStateSplit, "", {}};
  if (tensor.is_decided) return {FixedBy::Kind::kOtherEntry, "", {}};
  return {};
}

FixedBy axis_fixed_by_rule(const Stated& tensor, size_t dim, int axis) {
  const auto& [annotation, offered] = tensor.stated;
  // An annotation, or what rules for a part of the model make of all rules, is all that counts.
  if (annotation && (!annotation->is_by_rules || !contains(annotation->sharding.dims[dim], axis))) return {};
  const std::vector<DimRule> none;
  for (const DimRule& rule : annotation ? annotation->rules : offered ? *offered : none)
    if (rule.dim == dim && contains(rule.axes, axis)) return {FixedBy::Kind::kRule, rule.text, rule.location};
  const std::string& name = tensor.dims[dim].name;
  const Rule* rule = find_rule(tensor.layout, name);
  if (rule && contains(rule->axes, axis))
    return {FixedBy::Kind::kRule, to_string(*rule, tensor.layout.mesh), rule->location};
  for (const Rule& between : tensor.layout.between)
    if (between.dim == name && contains(between.axes, axis))
      return {FixedBy::Kind::kRule, to_string(between, tensor.layout.mesh) + " between parts",
              between.location};
  return {};
}

FixedBy fixed_by(const Stated& tensor) {
  const SharedAnnotation& annotation = tensor.stated.annotation;
  if (is_annotated(tensor)) return by_annotation(*annotation);
  if (tensor.is_state) return {FixedBy::Kind::kStateSplit, "", {}};
  if (annotation) return {FixedBy::Kind::kRule, "", {}};
  if (tensor.is_decided) return {FixedBy::Kind::kOtherEntry, "", {}};
  if (tensor.is_chosen) return {FixedBy::Kind::kChoice, "", {}};
  return {has_rule(tensor.layout, tensor.dims) ? FixedBy::Kind::kRule : FixedBy::Kind::kNothing, "", {}};
}

TensorOrigins origins_of(const ShardedEntry& plan, const PlanConditions& conditions,
                         const std::string& tensor) {
  return Origins(plan, conditions).of(tensor);
}

}  // namespace mtfc
