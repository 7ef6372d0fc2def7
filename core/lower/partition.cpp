#include "core/lower/partition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/graph/op_registry.h"
#include "core/lower/tensor_forms.h"
#include "core/op_rules/pieces.h"
#include "core/program/sent_elements.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

size_t index(int position) {
  return static_cast<size_t>(position);
}

// The variables of the program, which are found by name.
class Variables {
 public:
  explicit Variables(const std::vector<ProgramVariable>& list) : list_(list) {
    for (size_t i = 0; i < list.size(); ++i) positions_.emplace(list[i].decl.name, static_cast<int>(i));
  }
  const ProgramVariable& operator[](int position) const { return list_[index(position)]; }
  int position(const std::string& name) const {
    const auto at = positions_.find(name);
    if (at == positions_.end()) throw InternalError("no variable '" + name + "'");
    return at->second;
  }

 private:
  const std::vector<ProgramVariable>& list_;
  std::unordered_map<std::string_view, int> positions_;
};

// The variable whose storage a value reads, itself or as an alias, or -1.
int variable_read(const PartitionedEntry& made, ValueId id) {
  return made.variable_of[root_of(made.entry, id)];
}

void add_leaf(TensorForms& forms, const Node& node, const Variables& variables) {
  const TensorId tensor = node.results[0];
  const ValueId id = forms.add(tensor, forms.own_sharding(tensor));
  const std::string& name = forms.graph().tensor(tensor).name;
  if (node.kind == NodeKind::kInput)
    forms.made().entry.inputs.push_back({name, id});
  else
    forms.made().variable_of[id] = variables.position(name);
}

// The axes over which node `n` takes its operand partial: those of the sums that pass through the node.
std::vector<Partial> partial_operand(const ShardedEntry& sharded, size_t n, size_t operand) {
  std::vector<Partial> partial;
  for (const Carry& carry : sharded.carries[n])
    if (std::find(carry.operands.begin(), carry.operands.end(), operand) != carry.operands.end())
      partial.push_back({carry.axis, ReduceKind::kSum});
  std::sort(partial.begin(), partial.end());
  return partial;
}

// The sharding in which node `n` gives its result, partial also over the axes of the sums that pass through.
Sharding result_sharding(const ShardedEntry& sharded, size_t n, size_t result) {
  Sharding sharding = sharded.strategies[n].results[result];
  for (const Carry& carry : sharded.carries[n]) sharding.partial.push_back({carry.axis, ReduceKind::kSum});
  std::sort(sharding.partial.begin(), sharding.partial.end());
  return sharding;
}

// The axes that split the moved dimension of the operands of a node that moves pieces. Along these, a device
// lacks elements that others hold.
AxisList moving_axes_of(const Graph& graph, const Node& node, const Strategy& strategy) {
  if (strategy.operands.empty() || split_axes(strategy.operands[0]).empty()) return {};
  const std::vector<TensorType> operands = graph.operand_types(node), results = graph.result_types(node);
  const std::vector<Factor> factors = node.op->roles({node.attributes, operands}, results);
  const Factor* moved = moved_factor(factors);
  if (!moved) return {};
  AxisList axes = strategy.operands[0].dims[index(moved->operands[0])];
  std::sort(axes.begin(), axes.end());
  return axes;
}

void add_kernel(TensorForms& forms, size_t n) {
  const ShardedEntry& sharded = forms.sharded();
  const Node& node = forms.graph().nodes()[n];
  const Strategy& strategy = sharded.strategies[n];
  Step step = forms.new_step(node);
  step.action = RunKernel{node.op, node.attributes};
  for (size_t i = 0; i < node.operands.size(); ++i) {
    Sharding wanted = strategy.operands[i];
    wanted.partial = partial_operand(sharded, n, i);
    step.inputs.push_back(forms.obtain(node.operands[i], wanted, node));
  }
  for (size_t i = 0; i < node.results.size(); ++i)
    step.outputs.push_back(forms.add(node.results[i], result_sharding(sharded, n, i)));
  const AxisList moving = moving_axes_of(forms.graph(), node, strategy);
  if (moving.empty() || moved_pieces(forms.made().entry, step, moving, forms.mesh()).none())
    forms.made().entry.steps.push_back(std::move(step));
  else
    forms.emit_collective(std::move(step), {CollectiveKind::kExchange, moving});
}

// Adds one step that stands for the loop `number` of the graph. `inline_loops` replaces it by the steps that
// the loop repeats.
void add_loop(TensorForms& forms, size_t n, LoopIndex number) {
  const Node& node = forms.graph().nodes()[n];
  const Strategy& strategy = forms.sharded().strategies[n];
  Step step = forms.new_step(node);
  step.action = RunLoop{number};
  for (size_t i = 0; i < node.operands.size(); ++i)
    step.inputs.push_back(forms.obtain(node.operands[i], strategy.operands[i], node));
  for (size_t i = 0; i < node.results.size(); ++i)
    step.outputs.push_back(forms.add(node.results[i], strategy.results[i]));
  forms.made().entry.steps.push_back(std::move(step));
}

// Brings `operand`, a form of the node's operand, straight into the sharding `to` of the result.
void add_exchange(TensorForms& forms, const Node& node, ValueId operand, const Sharding& to) {
  const TensorId in = node.operands[0], out = node.results[0];
  const Sharding from = forms.value(operand).sharding;
  const Relayout relayout{forms.graph().type(in).dims, from, forms.graph().type(out).dims, to};
  const AxisList axes = moving_axes(relayout, forms.mesh());
  Move move{std::nullopt, to};
  if (!SentElements({relayout.from_dims, from}, {relayout.to_dims, to}, axes, forms.mesh()).none())
    move.collective = Collective{CollectiveKind::kExchange, axes};
  forms.emit_move(forms.new_step(node), operand, forms.add(out, to), move);
}

// A relabelling node gives the same elements in the same order under other dimensions: an alias where every device
// holds its elements already, and otherwise an exchange.
void add_relabelling(TensorForms& forms, size_t n) {
  const Node& node = forms.graph().nodes()[n];
  const TensorId in = node.operands[0], out = node.results[0];
  const Dims &from = forms.graph().type(in).dims, &to = forms.graph().type(out).dims;
  Sharding needed = forms.sharded().strategies[n].operands[0], carried;
  const Sharding given = result_sharding(forms.sharded(), n, 0);
  needed.partial = partial_operand(forms.sharded(), n, 0);
  const ValueId operand = forms.obtain(in, needed, node);
  if (carries(from, needed, to, forms.mesh(), carried) && carried == given) {
    forms.add_alias(operand, out, given);
  } else {
    add_exchange(forms, node, operand, given);
  }
}

void add_nodes(TensorForms& forms, const Variables& variables) {
  const Nodes& nodes = forms.graph().nodes();
  size_t loops = 0;
  for (size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    if (node.kind == NodeKind::kLoop)
      add_loop(forms, n, LoopIndex(loops++));
    else if (node.kind == NodeKind::kOp && node.op->family == Family::kRelabel)
      add_relabelling(forms, n);
    else if (node.kind == NodeKind::kOp)
      add_kernel(forms, n);
    else
      add_leaf(forms, node, variables);
  }
}

ValueId copied(TensorForms& forms, TensorId tensor, ValueId from) {
  Value copy = forms.value(from);
  copy.name += "@copy";
  copy.from_model = false;
  copy.alias_of = kNoValue;
  Step step = forms.new_step(forms.graph().producer(tensor));
  step.action = RunKernel{&op_named("identity")};
  step.name = copy.name;
  step.inputs = {from};
  step.outputs = {forms.add_value(std::move(copy))};
  forms.made().entry.steps.push_back(step);
  return step.outputs[0];
}

// The tensor as it is at the end of the step: a copy where its buffer is a variable's that gets a new value.
ValueId kept(TensorForms& forms, TensorId tensor, const Sharding& sharding, const std::set<int>& assigned) {
  const ValueId id = forms.obtain(tensor, sharding, forms.graph().producer(tensor));
  return assigned.contains(variable_read(forms.made(), id)) ? copied(forms, tensor, id) : id;
}

void add_outputs(TensorForms& forms, const Variables& variables) {
  const ShardedEntry& sharded = forms.sharded();
  const EntryGraph& entry = sharded.entry;
  std::set<int> assigned;
  for (const Assignment& assignment : entry.assignments)
    assigned.insert(variables.position(assignment.variable));
  const size_t whole = entry.outputs.size() - entry.sums;
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    const auto& [name, tensor] = entry.outputs[i];
    const Sharding& sharding = sharded.outputs[i];
    const ValueId id = i < whole ? kept(forms, tensor, sharding, assigned)
                                 : forms.obtain(tensor, sharding, forms.graph().producer(tensor));
    forms.made().entry.outputs.push_back({name, id});
  }
}

// The values that stand for the storage of variables.
std::map<int, ValueId> variable_values(const PartitionedEntry& made) {
  std::map<int, ValueId> values;
  for (const ValueId id : made.variable_of.ids())
    if (made.variable_of[id] >= 0) values.emplace(made.variable_of[id], id);
  return values;
}

// All new values of variables are computed before the first is stored: assignments see the state from the
// start. So a new value that is the old one of another variable is copied.
void add_assignments(TensorForms& forms, const Variables& variables) {
  const EntryGraph& entry = forms.sharded().entry;
  std::vector<ValueId> new_values;
  for (const Assignment& assignment : entry.assignments) {
    const int variable = variables.position(assignment.variable);
    const ValueId id = forms.obtain(assignment.value, variables[variable].sharding,
                                    forms.graph().producer(assignment.value));
    const int held = variable_read(forms.made(), id);
    new_values.push_back(held >= 0 && held != variable ? copied(forms, assignment.value, id) : id);
  }
  std::map<int, ValueId> values = variable_values(forms.made());
  for (size_t i = 0; i < new_values.size(); ++i) {
    const int number = variables.position(entry.assignments[i].variable);
    const auto [value, is_unread] = values.emplace(number, kNoValue);
    if (is_unread) {
      const ProgramVariable& declared = variables[number];
      value->second = forms.add_value(
          {declared.decl.name, declared.decl.type, declared.sharding, kNoBuffer, true, kNoValue}, number);
    }
    if (root_of(forms.made().entry, new_values[i]) != value->second)
      forms.made().assignments.emplace_back(value->second, new_values[i]);
  }
}

}  // namespace

PartitionedEntry partition(const ShardedEntry& sharded, const std::vector<ProgramVariable>& variables,
                           const Mesh& mesh) {
  const Variables found(variables);
  TensorForms forms(sharded, mesh);
  add_nodes(forms, found);
  add_outputs(forms, found);
  add_assignments(forms, found);
  PartitionedEntry made = std::move(forms.made());
  made.loops = sharded.loops;
  made.sums = sharded.entry.sums;
  return made;
}

}  // namespace mtfc
