#include "core/plan/choose_plan.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/diagnostics/progress.h"
#include "core/diagnostics/stop.h"
#include "core/plan/flat_graph.h"
#include "core/plan/form_table.h"
#include "core/plan/node_tables.h"
#include "core/plan/split_nodes.h"
#include "core/rewrite/remove_dead.h"

namespace mtfc {
namespace {

// A form of a tensor for each option of a choice.
struct Use {
  int choice = -1;
  FormsId forms;
};

// The uses of a tensor: the form that its producer gives, the forms that its readers need, and, if it has several
// readers, the choice of the forms in which it is held.
struct TensorUses {
  Use made;
  std::vector<Use> read;
  int choice = -1;
  const FormSets* sets = nullptr;
};

// A choice among all options of each node. A choice that may have to end early begins with a few of them, which takes
// little time for any model.
constexpr size_t kAllOptions = SIZE_MAX;
constexpr size_t kFewOptions = 2;
constexpr size_t kSomeOptions = 12;
// The entries of tables for a first solution in a choice that may have to end early.
constexpr size_t kSmallTable = size_t{1} << 12;

bool moves_directly(const ShardedEntry& entry) {
  const auto is_direct = [](const PlannedForm& form) { return form.way == ReshardWay::kDirect; };
  return std::any_of(entry.forms.begin(), entry.forms.end(),
                     [&](const auto& forms) { return std::any_of(forms.begin(), forms.end(), is_direct); }) ||
         std::any_of(entry.parts.begin(), entry.parts.end(), moves_directly);
}

class PlanChoice {
 public:
  /// `most`: the options of each node that are looked at.
  PlanChoice(std::shared_ptr<const PlanSpace> space, const PlanConditions& conditions, size_t most)
      : work_{"choosing the plan of " + space->entry.name, 0, 0, "operations"},
        most_(most),
        space_(std::move(space)),
        entry_(space_->entry),
        conditions_(conditions),
        mesh_(conditions.layout.mesh),
        graph_(space_->graph),
        candidates_(space_->candidates),
        prices_(mesh_, conditions.hardware),
        forms_(prices_),
        node_tables_(graph_, candidates_, mesh_, prices_, forms_, most),
        can_hide_(can_be_hidden()) {}

  // By rules: the nodes that run by their split rules, because their tensors are split along a dimension that they need
  // whole, and into how many parts. Otherwise none.
  std::map<FlatNodeId, int64_t> stated_splits() const {
    std::map<FlatNodeId, int64_t> splits;
    if (!conditions_.by_rules || !conditions_.uses_split_rules) return splits;
    for (const FlatNodeId n : graph_.nodes.ids()) {
      const FlatNode& node = graph_.nodes[n];
      if (!node.operates() || node.node->op->split_rule == kNoSplitRule) continue;
      if (const int64_t parts = parts_of_needed(node, candidates_.factors[n]); parts > 1)
        splits.emplace(n, parts);
    }
    return splits;
  }
  ChosenPlan choose() {
    uses_ = IndexedBy<FlatTensorId, TensorUses>(graph_.tensors.size(), TensorUses());
    tables_ = IndexedBy<FlatNodeId, std::shared_ptr<const NodeTable>>(graph_.nodes.size(), nullptr);
    choices_ = IndexedBy<FlatNodeId, int>(graph_.nodes.size(), -1);
    slots_ = IndexedBy<FlatNodeId, std::vector<int>>(graph_.nodes.size(), std::vector<int>());
    work_.all = static_cast<int64_t>(2 * graph_.nodes.size());
    for (const FlatNodeId n : graph_.nodes.ids()) {
      tell_done(n.index());
      add_node(n);
    }
    for (const FlatNodeId n : graph_.nodes.ids())
      if (graph_.nodes[n].node->kind == NodeKind::kLoop) add_loop(n);
    add_assignments();
    add_outputs();
    for (const FlatTensorId id : graph_.tensors.ids()) {
      tell_done(graph_.nodes.size() + id.index() * graph_.nodes.size() / graph_.tensors.size());
      add_moves(id);
    }
    if (!entry_.name.empty()) tell_progress({work_.what + ": all operations together"});
    solve();
    // Not even the tables over which bounds are computed may be too large. Then the solution may not fit together.
    if (!solution_.cost.is_possible())
      throw UserError("the model has too many shardings to choose from under this layout",
                      "annotate more tensors, or use fewer axes");
    ChosenPlan plan;
    for (const auto& [name, use] : variables_) plan.variables.emplace(name, form(use));
    plan.cost = solution_.cost;
    if (most_ == kAllOptions) plan.bound = solution_.bound;
    plan.is_complete = most_ == kAllOptions && is_solved_;
    if (conditions_.hardware.hardware) plan.hardware = conditions_.hardware.hardware->name;
    for (const FlatNodeId n : graph_.nodes.ids()) {
      if (!tables_[n]) continue;
      plan.is_free = plan.is_free || tables_[n]->is_free;
      if (const int64_t parts = option(n).parts; parts > 1) plan.splits.emplace(n, parts);
    }
    std::vector<Sharding> outputs;
    for (const NamedTensor& output : whole_outputs())
      outputs.push_back(form(outputs_.at(graph_.scopes[0].flat(output.tensor))));
    size_t scope = 0;
    plan.entry = decided(entry_, std::move(outputs), scope);
    plan.is_free = plan.is_free || moves_directly(plan.entry);
    return plan;
  }

 private:
  void tell_done(size_t parts) {
    work_.done = static_cast<int64_t>(parts);
    if (!entry_.name.empty()) tell_progress(work_);  // a single node is a part of the choice around it
  }

  // If the choice may have to end early, a rough solution comes first.
  void solve() {
    if (conditions_.ends) {
      solution_ = network_.solve(kSmallTable);
      is_solved_ = false;
      try {
        solution_ = network_.solve();
      } catch (const Stopped&) {
        if (!solution_.cost.is_possible()) throw;
        return;
      }
    } else {
      solution_ = network_.solve();
    }
    is_solved_ = true;
  }

  const Sharding* fixed(FlatTensorId id) const {
    return candidates_.fixed[id] ? &*candidates_.fixed[id] : nullptr;
  }
  const std::string& name(FlatTensorId id) const { return graph_.tensors[id].tensor->name; }
  int64_t times(FlatTensorId id) const { return graph_.scopes[graph_.tensors[id].scope].times; }
  const Sharding* stated(FlatTensorId id) const {
    return conditions_.by_rules ? &candidates_.stated[id] : nullptr;
  }
  std::vector<Sharding> candidates(FlatTensorId id) const {
    if (stated(id)) return {*stated(id)};
    std::vector<Sharding> all =
        shardings_of(candidates_.reach.dims[id], candidates_.reach.lists, mesh_, name(id));
    if (all.size() > most_) all.erase(all.begin() + static_cast<std::ptrdiff_t>(most_) - 1, all.end() - 1);
    return all;
  }

  FormTable::Held held(FlatTensorId id) const { return {graph_.type(id), fixed(id), can_hide_[id]}; }

  // True for tensors whose collectives kernels can hide: those that only updates of weights read, and those that are
  // there before the first kernel runs, as variables are, and what is made of variables and constants alone.
  IndexedBy<FlatTensorId, bool> can_be_hidden() const {
    IndexedBy<FlatTensorId, bool> found = only_updates_read(), is_early(graph_.tensors.size(), false);
    for (const FlatNode& node : graph_.nodes) {
      if (node.scope > 0) continue;
      const auto is_early_operand = [&](TensorId id) { return is_early[graph_.flat(node, id)]; };
      const bool makes_early = node.node->kind == NodeKind::kVariable ||
                               (node.operates() && std::all_of(node.node->operands.begin(),
                                                               node.node->operands.end(), is_early_operand));
      for (const TensorId id : node.node->results)
        if (const FlatTensorId made = graph_.flat(node, id); makes_early) is_early[made] = found[made] = true;
    }
    return found;
  }
  IndexedBy<FlatTensorId, bool> only_updates_read() const {
    IndexedBy<FlatTensorId, bool> found(graph_.tensors.size(), false);
    for (const bool is_update : {true, false})
      for (const FlatNode& node : graph_.nodes)
        if ((node.node->origin->phase == Phase::kUpdate) == is_update)
          for (const TensorId id : node.node->operands) found[graph_.flat(node, id)] = is_update;
    return found;
  }

  // -- choices --

  Use add_free_choice(const std::vector<Sharding>& forms) {
    return {network_.add_variable(std::vector<PlanCost>(forms.size())), forms_.add(forms)};
  }

  void add_node(FlatNodeId n) {
    const FlatNode& node = graph_.nodes[n];
    if (node.operates()) return add_operation(n);
    if (node.node->kind == NodeKind::kLoop || node.scope > 0)
      return;  // leaves of a loop belong to its choices
    const FlatTensorId id = graph_.flat(node, node.node->results[0]);
    const Use use = add_free_choice(fixed(id) ? std::vector<Sharding>{*fixed(id)} : candidates(id));
    choices_[n] = use.choice;
    uses_[id].made = use;
    if (node.node->kind == NodeKind::kVariable) variables_.emplace(name(id), use);
  }

  void add_operation(FlatNodeId n) {
    const FlatNode& node = graph_.nodes[n];
    const std::shared_ptr<const NodeTable> table = node_tables_.of(n, split_plan(n));
    std::vector<PlanCost> costs;
    const int64_t rounds = graph_.scopes[node.scope].times;
    for (const NodeOption& option : table->options) costs.push_back(multiplied(option.cost, rounds));
    tables_[n] = table;
    choices_[n] = network_.add_variable(std::move(costs));
    for (size_t i = 0; i < node.node->operands.size(); ++i)
      uses_[graph_.flat(node, node.node->operands[i])].read.push_back({choices_[n], table->operands[i]});
    for (size_t i = 0; i < node.node->results.size(); ++i)
      uses_[graph_.flat(node, node.node->results[i])].made = {choices_[n], table->results[i]};
  }

  // The number of shards of the dimension that the node needs whole; 1 if it is whole.
  int64_t parts_of_needed(const FlatNode& node, const std::vector<Factor>& factors) const {
    for (const Factor& factor : factors) {
      if (factor.kind != Factor::Kind::kNeedsReplication) continue;
      for (size_t i = 0; i < factor.operands.size(); ++i) {
        if (factor.operands[i] < 0) continue;
        const Sharding& sharding = *stated(graph_.flat(node, node.node->operands[i]));
        const int64_t parts = mesh_.size(sharding.dims[static_cast<size_t>(factor.operands[i])]);
        if (parts > 1) return parts;
      }
    }
    return 1;
  }

  // Plans what the split rule of the node makes, on its own.
  SplitPlan split_plan(FlatNodeId n) const {
    const FlatNode& node = graph_.nodes[n];
    if (!conditions_.uses_split_rules || conditions_.by_rules || node.node->op->split_rule == kNoSplitRule ||
        most_ < kAllOptions)
      return {};
    return [this, &node](const std::vector<Sharding>& operands, int64_t parts) {
      EntryGraph alone = split_node(*graph_.scopes[node.scope].graph, *node.node, parts);
      size_t next = 0;
      alone.graph = with_layout(
          std::move(alone.graph),
          [&](const Tensor&) -> StatedLayout {
            if (next >= operands.size()) return {};
            return {std::make_shared<const TensorAnnotation>(TensorAnnotation{operands[next++], "", {}})};
          },
          [](const GraphLoop& loop) { return loop; });
      const Layout layout{mesh_, {}, {}, true};
      const ChosenPlan plan =
          choose_plan(std::move(alone), {layout, {}, {}, false, false, conditions_.hardware, nullptr});
      NodeOption option{operands, {}, plan.cost, parts};
      for (const NamedTensor& output : plan.entry.entry.outputs)
        option.results.push_back(plan.entry.shardings[output.tensor]);
      return option;
    };
  }

  // A choice for each operand: the form in which all rounds take it. A carried tensor leaves a round as it enters the
  // next. A sum leaves the loop as its terms come out of the body.
  void add_loop(FlatNodeId n) {
    const FlatNode& node = graph_.nodes[n];
    const GraphLoop& loop = *node.node->loop;
    for (size_t i = 0; i < node.node->operands.size(); ++i) {
      const FlatTensorId operand = graph_.flat(node, node.node->operands[i]);
      const std::vector<FlatTensorId> leaves = graph_.leaves(node, i);
      const FlatTensorId free = leaves.empty() ? operand : leaves[0];
      const Use use = add_free_choice(
          leaves.empty() && fixed(operand) ? std::vector<Sharding>{*fixed(operand)} : candidates(free));
      slots_[n].push_back(use.choice);
      uses_[operand].read.push_back(use);
      for (const FlatTensorId leaf : leaves) uses_[leaf].made = use;
      if (i >= loop.carried()) continue;
      uses_[graph_.given(node, i)].read.push_back(use);
      uses_[graph_.flat(node, node.node->results[i])].made = use;
    }
    for (size_t i = loop.carried(); i < node.node->results.size(); ++i) {
      const FlatTensorId given = graph_.given(node, i);
      Use use = uses_[given].made;
      if (const std::vector<Sharding> forms = scattered_forms(given); !forms.empty()) {
        use = add_free_choice(forms);
        uses_[given].read.push_back(use);
      }
      uses_[graph_.flat(node, node.node->results[i])].made = use;
    }
    for (const TensorId id : loop.condition.results) {
      const FlatTensorId holds = graph_.scopes[node.condition].flat(id);
      uses_[holds].read.push_back(add_free_choice({replicated(graph_.type(holds).dims.size())}));
    }
  }

  // The forms of a sum that the layout splits, whose terms are scattered in each round; none for other sums.
  std::vector<Sharding> scattered_forms(FlatTensorId id) const {
    const auto& [tensor, scope] = graph_.tensors[id];
    if (!is_split_state(conditions_.split, *graph_.scopes[scope].graph, *tensor)) return {};
    const Sharding whole = stated_sharding(conditions_.layout, tensor->annotation.get(), tensor->type.dims,
                                           conditions_.split, true);
    Sharding partial = whole;
    const AxisList split = split_axes(whole);
    for (int axis = 0; axis < static_cast<int>(std::min<size_t>(mesh_.axes().size(), 64)); ++axis)
      if ((candidates_.reach.partial[id] >> axis & 1) != 0 && !contains(split, axis))
        partial.partial.push_back({axis, ReduceKind::kSum});
    return partial == whole ? std::vector{whole} : std::vector{whole, partial};
  }

  // The new value of a variable must be in the sharding of the variable.
  void add_assignments() {
    for (const Assignment& assignment : entry_.assignments) {
      const FlatTensorId value = graph_.scopes[0].flat(assignment.value);
      const auto known = variables_.find(assignment.variable);
      if (known != variables_.end()) {
        uses_[value].read.push_back(known->second);
        continue;
      }
      const auto decided = conditions_.variables.find(assignment.variable);
      const Use use =
          add_free_choice(decided != conditions_.variables.end() ? std::vector<Sharding>{decided->second}
                                                                 : candidates(value));
      variables_.emplace(assignment.variable, use);
      uses_[value].read.push_back(use);
    }
  }

  std::span<const NamedTensor> whole_outputs() const {
    return std::span(entry_.outputs).first(entry_.outputs.size() - entry_.sums);
  }

  void add_outputs() {
    std::set<FlatTensorId> added;
    for (const NamedTensor& output : whole_outputs()) {
      const FlatTensorId id = graph_.scopes[0].flat(output.tensor);
      if (!added.insert(id).second) continue;
      const Tensor& tensor = *graph_.tensors[id].tensor;
      const NodeKind kind = entry_.graph.producer(output.tensor).kind;
      Use use;
      if (kind == NodeKind::kInput || kind == NodeKind::kVariable)
        use = uses_[id].made;  // it is delivered as it is held
      else if (fixed(id))
        use = add_free_choice({*fixed(id)});
      else if (!conditions_.layout.propagate && !conditions_.by_rules && tensor.from_model)
        use = add_free_choice({legal_sharding_by_rules(conditions_.layout, tensor.type.dims)});
      else
        use = add_free_choice(candidates(id));
      outputs_.emplace(id, use);
      uses_[id].read.push_back(use);
    }
  }

  void add_moves(FlatTensorId id) {
    TensorUses& uses = uses_[id];
    if (uses.made.choice < 0 || uses.read.empty()) return;
    if (uses.read.size() == 1)
      return network_.add_pair(uses.made.choice, uses.read[0].choice,
                               forms_.moves(held(id), uses.made.forms, uses.read[0].forms), times(id));
    std::vector<FormsId> needed;
    for (const Use& use : uses.read) needed.push_back(use.forms);
    uses.sets = &forms_.sets(held(id), uses.made.forms, needed);
    uses.choice = network_.add_variable(std::vector<PlanCost>(uses.sets->sets.size()));
    network_.add_pair(uses.made.choice, uses.choice, uses.sets->made, times(id));
    for (size_t i = 0; i < uses.read.size(); ++i)
      network_.add_pair(uses.choice, uses.read[i].choice, uses.sets->taken[i]);
  }

  // -- the decided plan --

  size_t value(int choice) const {
    return static_cast<size_t>(solution_.values[static_cast<size_t>(choice)]);
  }
  const NodeOption& option(FlatNodeId n) const { return tables_[n]->options[value(choices_[n])]; }
  const Sharding& form(const Use& use) const { return forms_[use.forms][value(use.choice)]; }

  // The entry point of scope number `scope`, with its parts, whose scopes follow. Advances `scope` behind them.
  ShardedEntry decided(EntryGraph entry, std::vector<Sharding> outputs, size_t& scope) {
    const size_t own = scope++;
    ShardedEntry made;
    made.entry = std::move(entry);
    made.outputs = std::move(outputs);
    const Graph& graph = made.entry.graph;
    for (const TensorId id : graph.tensors().ids()) {
      const FlatTensorId flat = graph_.scopes[own].flat(id);
      made.forms.push_back(planned_forms(flat));
      made.shardings.push_back(own_sharding(flat, made.forms[id]));
    }
    const std::vector<FlatNodeId>& nodes = graph_.scopes[own].nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = graph.nodes()[i];
      made.strategies.push_back(strategy(nodes[i]));
      made.carries.push_back(tables_[nodes[i]] ? carries_of(option(nodes[i])) : std::vector<Carry>());
      if (!node.loop) continue;
      const std::string loop = graph.tensor(node.results[0]).name;
      std::vector<Sharding> holds;
      for (const TensorId id : node.loop->condition.results)
        holds.push_back(replicated(node.loop->condition.graph.type(id).dims.size()));
      // A tensor that a loop carries leaves a round in the sharding in which it entered it.
      const std::vector<Sharding>& taken = made.strategies.back().operands;
      std::vector<Sharding> given(taken.begin(),
                                  taken.begin() + static_cast<ptrdiff_t>(node.loop->carried()));
      const std::vector<Sharding>& results = made.strategies.back().results;
      given.insert(given.end(), results.begin() + static_cast<ptrdiff_t>(given.size()), results.end());
      made.parts.push_back(
          decided(entry_of(node.loop->condition, made.entry.name + ", condition of " + loop, 0),
                  std::move(holds), scope));
      made.parts.push_back(
          decided(entry_of(node.loop->body, made.entry.name + ", body of " + loop, node.loop->sums),
                  std::move(given), scope));
    }
    return made;
  }

  PlannedForm form_from(FlatTensorId id, const Sharding& to, const Sharding& from) const {
    return {to, from, prices_.way(graph_.type(id), from, to, can_hide_[id])};
  }

  std::vector<PlannedForm> planned_forms(FlatTensorId id) const {
    const TensorUses& uses = uses_[id];
    std::vector<PlannedForm> planned;
    if (uses.made.choice < 0) return planned;
    Sharding source = form(uses.made);
    std::vector<Sharding> known = {source};
    if (fixed(id) && *fixed(id) != source) {
      planned.push_back(form_from(id, *fixed(id), source));
      source = *fixed(id);
      known = {source};
    }
    if (uses.choice >= 0)
      for (const auto& [to, from] :
           forms_.making(held(id), source, uses.sets->sets[value(uses.choice)]).steps) {
        planned.push_back(form_from(id, to, from));
        known.push_back(to);
      }
    for (const Use& use : uses.read) {
      const Sharding& needed = form(use);
      if (std::find(known.begin(), known.end(), needed) != known.end()) continue;
      const auto cheapest =
          std::min_element(known.begin(), known.end(), [&](const Sharding& a, const Sharding& b) {
            return forms_.move(held(id), a, needed) < forms_.move(held(id), b, needed);
          });
      planned.push_back(form_from(id, needed, *cheapest));
      known.push_back(needed);
    }
    return planned;
  }

  // The sharding under which the tensor is known: that of an output, or else the first form that is whole.
  Sharding own_sharding(FlatTensorId id, const std::vector<PlannedForm>& planned) const {
    if (fixed(id)) return *fixed(id);
    if (stated(id)) return *stated(id);
    if (const auto output = outputs_.find(id); output != outputs_.end()) return form(output->second);
    if (uses_[id].made.choice < 0) return replicated(graph_.type(id).dims.size());
    const Sharding& made = form(uses_[id].made);
    if (made.partial.empty()) return made;
    for (const PlannedForm& form : planned)
      if (form.sharding.partial.empty()) return form.sharding;
    return made.whole();
  }

  Strategy strategy(FlatNodeId n) const {
    const FlatNode& node = graph_.nodes[n];
    if (node.operates()) return strategy_of(option(n));
    Strategy chosen;
    if (node.node->kind == NodeKind::kLoop) {
      for (size_t i = 0; i < node.node->operands.size(); ++i) chosen.operands.push_back(form(loop_use(n, i)));
      for (const TensorId id : node.node->results)
        chosen.results.push_back(form(uses_[graph_.flat(node, id)].made));
    }
    return chosen;
  }

  Use loop_use(FlatNodeId n, size_t i) const {
    const FlatNode& node = graph_.nodes[n];
    for (const Use& use : uses_[graph_.flat(node, node.node->operands[i])].read)
      if (use.choice == slots_[n][i]) return use;
    throw InternalError("a loop does not read its operand");
  }

  WorkPart work_;
  size_t most_;
  std::shared_ptr<const PlanSpace> space_;
  const EntryGraph& entry_;
  const PlanConditions& conditions_;
  const Mesh& mesh_;
  const FlatGraph& graph_;
  const PlanCandidates& candidates_;
  PlanPrices prices_;
  FormTable forms_;
  NodeTables node_tables_;
  IndexedBy<FlatTensorId, bool> can_hide_;
  CostNetwork network_;
  IndexedBy<FlatTensorId, TensorUses> uses_;
  IndexedBy<FlatNodeId, std::shared_ptr<const NodeTable>> tables_;
  IndexedBy<FlatNodeId, int> choices_;
  IndexedBy<FlatNodeId, std::vector<int>> slots_;  // of a loop: the choice of each operand
  std::map<std::string, Use, std::less<>> variables_;
  std::map<FlatTensorId, Use> outputs_;
  NetworkSolution solution_;
  bool is_solved_ = false;  // no table was made smaller because the choice had to end
};

std::shared_ptr<const PlanSpace> space_of(EntryGraph entry, const PlanConditions& conditions) {
  std::shared_ptr<const PlanSpace> own;
  std::shared_ptr<const PlanSpace>& known = conditions.shared ? *conditions.shared : own;
  if (!known) known = std::make_shared<const PlanSpace>(std::move(entry), conditions);
  return known;
}

// Where operations run by their split rules, the plan is that of the graph in which they are replaced.
ChosenPlan chosen_among(EntryGraph entry, const PlanConditions& conditions, size_t most) {
  const std::shared_ptr<const PlanSpace> space = space_of(std::move(entry), conditions);
  PlanChoice choice(space, conditions, most);
  std::map<FlatNodeId, int64_t> splits = choice.stated_splits();
  if (splits.empty()) {
    ChosenPlan plan = choice.choose();
    if (plan.splits.empty()) return plan;
    splits = std::move(plan.splits);
  }
  PlanConditions as_made = conditions;
  as_made.uses_split_rules = false;
  as_made.shared = nullptr;
  return chosen_among(remove_dead(with_split_nodes(space->entry, splits)), as_made, most);
}

}  // namespace

PlanFigures figures_of(const ChosenPlan& plan) {
  return {plan.cost.total / kCostPerByte, plan.bound.total / kCostPerByte, plan.hardware};
}

ChosenPlan choose_plan(EntryGraph entry, const PlanConditions& conditions) {
  if (!conditions.ends || conditions.by_rules) return chosen_among(std::move(entry), conditions, kAllOptions);
  ChosenPlan best = chosen_among(entry, conditions, kFewOptions);
  try {
    const StopScope scope(conditions.ends);
    for (const size_t most : {kSomeOptions, kAllOptions}) {
      check_stop();
      ChosenPlan plan = chosen_among(entry, conditions, most);
      if (plan.is_complete || plan.cost < best.cost)
        best = std::move(plan);
      else
        best.bound = plan.bound;
    }
  } catch (const Stopped&) {
    // The best so far is taken.
  }
  return best;
}

}  // namespace mtfc
