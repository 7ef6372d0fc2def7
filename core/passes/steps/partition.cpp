#include "core/passes/steps/partition.h"

#include <algorithm>
#include <optional>

#include "core/graph/op_registry.h"
#include "core/op_rules/pieces.h"
#include "core/program/reshard.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

class Partitioner {
 public:
  Partitioner(const ShardedEntry& sharded, const std::vector<ProgramVariable>& variables, const Mesh& mesh)
      : source_(sharded.entry),
        graph_(sharded.entry.graph),
        targets_(sharded.shardings),
        strategies_(sharded.strategies),
        carries_(sharded.carries),
        variables_(variables),
        mesh_(mesh),
        forms_(graph_.tensors().size()) {
    result_.entry.name = source_.name;
  }

  PartitionedEntry run() {
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (node.kind == NodeKind::kLoop)
        repeat(n);
      else if (node.kind == NodeKind::kOp && node.op->family == Family::kRelabel)
        relabel(n);
      else if (node.kind == NodeKind::kOp)
        compute(n);
      else
        add_leaf(node);
    }
    const size_t whole = source_.outputs.size() - source_.sums;
    for (size_t i = 0; i < source_.outputs.size(); ++i) {
      const NamedTensor& output = source_.outputs[i];
      result_.entry.outputs.push_back(
          {output.name, i < whole ? kept(output.tensor) : as_made(output.tensor)});
    }
    assign_variables();
    return std::move(result_);
  }

 private:
  static size_t index(int id) { return static_cast<size_t>(id); }
  const Sharding& target(TensorId id) const { return targets_[index(id)]; }
  Value& value(ValueId id) { return result_.entry.values[index(id)]; }

  // A new value of a tensor, known from now on as one of its forms.
  ValueId add_value(TensorId tensor, const Sharding& sharding) {
    const bool own = sharding == target(tensor);
    const std::string& name = graph_.tensor(tensor).name;
    const TensorType& type = graph_.type(tensor);
    const auto id = static_cast<ValueId>(result_.entry.values.size());
    result_.entry.values.push_back({own ? name : name + "@" + form_name(type.dims, sharding), type, sharding,
                                    kNoBuffer, own && graph_.tensor(tensor).from_model, -1});
    result_.variable_of.push_back(-1);
    forms_[index(tensor)].push_back(id);
    return id;
  }

  // `sum(cols)`, `batch/rows`, `whole`: what sets this form apart.
  std::string form_name(const Dims& dims, const Sharding& sharding) const {
    std::string text;
    for (const Partial& p : sharding.partial)
      text += (text.empty() ? "" : ",") + to_string(p.kind) + "(" + mesh_.names({p.axis}) + ")";
    for (size_t i = 0; i < dims.size(); ++i)
      if (!sharding.dims[i].empty())
        text += (text.empty() ? "" : ",") + dims[i].name + "/" + mesh_.names(sharding.dims[i]);
    return text.empty() ? "whole" : text;
  }

  void add_leaf(const Node& node) {
    const TensorId tensor = node.results[0];
    const ValueId id = add_value(tensor, target(tensor));
    const std::string& name = graph_.tensor(tensor).name;
    if (node.kind == NodeKind::kInput)
      result_.entry.inputs.push_back({name, id});
    else
      result_.variable_of[index(id)] = variable_index(name);
  }

  int variable_index(const std::string& name) const {
    for (size_t i = 0; i < variables_.size(); ++i)
      if (variables_[i].decl.name == name) return static_cast<int>(i);
    throw InternalError("no variable '" + name + "'");
  }

  void compute(size_t n) {
    const Node& node = graph_.nodes()[n];
    const Strategy& strategy = strategies_[n];
    Step step = new_step(node);
    step.op = node.op;
    step.attributes = node.attributes;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      Sharding wanted = strategy.operands[i];
      wanted.partial = carried_by(n, i);
      step.inputs.push_back(obtain(node.operands[i], wanted, node));
    }
    for (size_t i = 0; i < node.results.size(); ++i) {
      Sharding sharding = strategy.results[i];
      for (const Carry& carry : carries_[n]) sharding.partial.push_back({carry.axis, ReduceKind::kSum});
      std::sort(sharding.partial.begin(), sharding.partial.end());
      step.outputs.push_back(add_value(node.results[i], sharding));
    }
    const AxisList moving = moving_pieces(node, strategy);
    if (moving.empty())
      result_.entry.steps.push_back(std::move(step));
    else
      emit_collective(std::move(step), CollectiveKind::kExchange, moving);
  }

  // One step that stands for a loop; what it repeats comes later (inline_loops).
  void repeat(size_t n) {
    const Node& node = graph_.nodes()[n];
    Step step = new_step(node);
    step.kind = StepKind::kLoop;
    step.partner = loops_++;
    for (size_t i = 0; i < node.operands.size(); ++i)
      step.inputs.push_back(obtain(node.operands[i], strategies_[n].operands[i], node));
    for (size_t i = 0; i < node.results.size(); ++i)
      step.outputs.push_back(add_value(node.results[i], strategies_[n].results[i]));
    result_.entry.steps.push_back(std::move(step));
  }

  // The axes that split the moved dimension of the operands of a node that moves pieces: along these, a
  // device lacks what the others hold.
  AxisList moving_pieces(const Node& node, const Strategy& strategy) const {
    const std::vector<TensorType> operands = graph_.operand_types(node), results = graph_.result_types(node);
    const std::vector<Factor> factors = node.op->roles({node.attributes, operands}, results);
    const Factor* moved = moved_factor(factors);
    if (!moved) return {};
    AxisList axes = strategy.operands[0].dims[static_cast<size_t>(moved->operands[0])];
    std::sort(axes.begin(), axes.end());
    return axes;
  }

  std::vector<Partial> carried_by(size_t n, size_t operand) const {
    std::vector<Partial> partial;
    for (const Carry& carry : carries_[n])
      if (std::find(carry.operands.begin(), carry.operands.end(), operand) != carry.operands.end())
        partial.push_back({carry.axis, ReduceKind::kSum});
    std::sort(partial.begin(), partial.end());
    return partial;
  }

  Step new_step(const Node& node) const {
    Step step;
    step.name = graph_.tensor(node.results[0]).name;
    step.source = node.origin.location.pointer;
    step.phase = node.origin.phase;
    return step;
  }

  // The tensor in the sharding `wanted`, for `user`: an existing form, or the cheapest way from one.
  ValueId obtain(TensorId tensor, const Sharding& wanted, const Node& user) {
    std::optional<MoveCost> best_cost;
    ValueId best = -1;
    for (const ValueId form : forms_[index(tensor)]) {
      const Sharding& from = value(form).sharding;
      if (from == wanted) return form;
      const bool reachable = std::all_of(wanted.partial.begin(), wanted.partial.end(), [&](const Partial& p) {
        return std::find(from.partial.begin(), from.partial.end(), p) != from.partial.end();
      });
      if (!reachable) continue;
      const MoveCost cost = reshard_cost(graph_.type(tensor), from, wanted, mesh_);
      if (!best_cost || cost < *best_cost) {
        best_cost = cost;
        best = form;
      }
    }
    check_invariant(best >= 0, "a partial form is asked for that was never made");
    for (const Move& move : plan_reshard(graph_.type(tensor).dims, value(best).sharding, wanted, mesh_))
      best = apply(tensor, best, move, user);
    return best;
  }

  ValueId apply(TensorId tensor, ValueId from, const Move& move, const Node& user) {
    for (const ValueId form : forms_[index(tensor)])
      if (value(form).sharding == move.to) return form;
    const bool reduces = move.kind == StepKind::kStart && (move.collective == CollectiveKind::kAllReduce ||
                                                           move.collective == CollectiveKind::kReduceScatter);
    // A reduction finishes what the producer began; any other move is made for the user.
    Step step = new_step(reduces ? graph_.producer(tensor) : user);
    return emit_move(std::move(step), from, add_value(tensor, move.to), move);
  }

  ValueId emit_move(Step step, ValueId from, ValueId to, const Move& move) {
    step.kind = move.kind;
    step.name = value(to).name;
    step.reduce = move.reduce;
    step.inputs = {from};
    step.outputs = {to};
    if (move.kind == StepKind::kStart)
      emit_collective(std::move(step), move.collective, move.axes);
    else
      result_.entry.steps.push_back(std::move(step));
    return to;
  }

  // The start and the wait of a collective over `axes`.
  void emit_collective(Step step, CollectiveKind collective, const AxisList& axes) {
    step.kind = StepKind::kStart;
    step.collective = collective;
    step.axes = axes;
    std::vector<Step>& steps = result_.entry.steps;
    steps.push_back(step);
    step.kind = StepKind::kWait;
    step.started = static_cast<int>(steps.size()) - 1;
    step.op = nullptr;
    step.attributes = {};
    steps.push_back(std::move(step));
  }

  void add_alias(ValueId of, TensorId tensor, const Sharding& sharding) {
    for (const ValueId form : forms_[index(tensor)])
      if (value(form).sharding == sharding) return;
    const ValueId id = add_value(tensor, sharding);
    value(id).alias_of = of;
  }

  // A relabelling node: the same elements in the same order under other dimensions. Three ways: carry the
  // operand's sharding over and reshard later, reshard the operand first, or exchange straight into the
  // result's sharding.
  void relabel(size_t n) {
    const Node& node = graph_.nodes()[n];
    const TensorId in = node.operands[0], out = node.results[0];
    const Dims &from_dims = graph_.type(in).dims, &to_dims = graph_.type(out).dims;
    const std::vector<Partial> partial = carried_by(n, 0);
    Sharding carried, needed;
    if (!partial.empty()) {
      const ValueId form = partial_form(in, partial, node);
      check_invariant(carries(from_dims, value(form).sharding, to_dims, mesh_, carried),
                      "a partial sum is lost");
      add_alias(form, out, carried);
      return;
    }
    std::optional<MoveCost> after, before;
    if (carries(from_dims, target(in), to_dims, mesh_, carried))
      after = reshard_cost(graph_.type(out), carried, target(out), mesh_);
    if (carries(to_dims, target(out), from_dims, mesh_, needed))
      before = reshard_cost(graph_.type(in), target(in), needed, mesh_);
    if (after && (!before || *after <= *before)) {
      add_alias(obtain(in, target(in), node), out, carried);
    } else if (before) {
      add_alias(obtain(in, needed, node), out, target(out));
    } else {
      exchange(node);
    }
  }

  // The form of a tensor that is partial in just this way, however split.
  ValueId partial_form(TensorId tensor, const std::vector<Partial>& partial, const Node& user) {
    for (const ValueId form : forms_[index(tensor)])
      if (value(form).sharding.partial == partial) return form;
    for (const ValueId form : forms_[index(tensor)])
      if (!value(form).sharding.partial.empty())
        return obtain(tensor, {value(form).sharding.dims, partial}, user);
    throw InternalError("a partial form is asked for that was never made");
  }

  void exchange(const Node& node) {
    const TensorId in = node.operands[0], out = node.results[0];
    const Relayout relayout{graph_.type(in).dims, target(in), graph_.type(out).dims, target(out)};
    const AxisList axes = moving_axes(relayout, mesh_);
    const Move move{
        axes.empty() ? StepKind::kSlice : StepKind::kStart, CollectiveKind::kExchange, axes, {}, target(out)};
    const ValueId from = obtain(in, target(in), node);
    emit_move(new_step(node), from, add_value(out, target(out)), move);
  }

  ValueId root(ValueId id) const { return root_of(result_.entry, id); }

  bool is_assigned(int variable) const {
    return std::any_of(source_.assignments.begin(), source_.assignments.end(),
                       [&](const Assignment& assignment) {
                         return assignment.variable == variables_[index(variable)].decl.name;
                       });
  }

  ValueId whole(TensorId tensor) { return obtain(tensor, target(tensor), graph_.producer(tensor)); }

  // The tensor as it is at the end of the step: a copy where its buffer is a variable's that gets a new
  // value.
  ValueId kept(TensorId tensor) {
    const ValueId id = whole(tensor);
    const int variable = result_.variable_of[index(root(id))];
    return variable >= 0 && is_assigned(variable) ? copied(tensor, id) : id;
  }

  // The tensor as it came out, be it partial.
  ValueId as_made(TensorId tensor) const { return forms_[index(tensor)].front(); }

  ValueId copied(TensorId tensor, ValueId from) {
    const ValueId to = static_cast<ValueId>(result_.entry.values.size());
    Value copy = value(from);
    copy.name += "@copy";
    copy.from_model = false;
    copy.alias_of = -1;
    result_.entry.values.push_back(std::move(copy));
    result_.variable_of.push_back(-1);
    emit_copy(graph_.producer(tensor), from, to);
    return to;
  }

  void emit_copy(const Node& origin, ValueId from, ValueId to) {
    Step step = new_step(origin);
    step.op = &op_named("identity");
    step.name = value(to).name;
    step.inputs = {from};
    step.outputs = {to};
    result_.entry.steps.push_back(std::move(step));
  }

  // New values of variables, all computed before the first is stored: assignments see the state from the
  // start.
  void assign_variables() {
    std::vector<ValueId> new_values;
    for (const Assignment& assignment : source_.assignments) {
      const ProgramVariable& variable = variables_[index(variable_index(assignment.variable))];
      const ValueId id = obtain(assignment.value, variable.sharding, graph_.producer(assignment.value));
      const int held = result_.variable_of[index(root(id))];
      const bool own = held >= 0 && variables_[index(held)].decl.name == assignment.variable;
      new_values.push_back(held >= 0 && !own ? copied(assignment.value, id) : id);
    }
    for (size_t i = 0; i < new_values.size(); ++i) {
      const Assignment& assignment = source_.assignments[i];
      const ValueId variable = variable_value(assignment.variable);
      if (root(new_values[i]) != variable) result_.assignments.emplace_back(variable, new_values[i]);
    }
  }

  // The value that stands for a variable's storage, added where nothing reads it.
  ValueId variable_value(const std::string& name) {
    const int variable = variable_index(name);
    for (size_t i = 0; i < result_.variable_of.size(); ++i)
      if (result_.variable_of[i] == variable) return static_cast<ValueId>(i);
    const ProgramVariable& declared = variables_[index(variable)];
    result_.entry.values.push_back({name, declared.decl.type, declared.sharding, kNoBuffer, true, -1});
    result_.variable_of.push_back(variable);
    return static_cast<ValueId>(result_.entry.values.size()) - 1;
  }

  const EntryGraph& source_;
  const Graph& graph_;
  const std::vector<Sharding>& targets_;
  const std::vector<Strategy>& strategies_;
  const std::vector<std::vector<Carry>>& carries_;
  const std::vector<ProgramVariable>& variables_;
  const Mesh& mesh_;
  std::vector<std::vector<ValueId>> forms_;  // per tensor
  int loops_ = 0;
  PartitionedEntry result_;
};

}  // namespace

PartitionedEntry partition(const ShardedEntry& sharded, const std::vector<ProgramVariable>& variables,
                           const Mesh& mesh) {
  PartitionedEntry result = Partitioner(sharded, variables, mesh).run();
  result.loops = sharded.loops;
  result.sums = sharded.entry.sums;
  return result;
}

}  // namespace mtfc
