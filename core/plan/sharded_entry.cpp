#include "core/plan/sharded_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "core/op_rules/pieces.h"
#include "core/program/step_check.h"

namespace mtfc {
namespace {

std::string named(const Tensor& tensor, const Sharding& sharding, const Mesh& mesh) {
  const std::string text = to_string(tensor.type.dims, sharding, mesh);
  return fmt::format("{}[{}]", tensor.name, text);
}

std::string named(const Graph& graph, const std::vector<TensorId>& ids,
                  const std::vector<Sharding>& shardings, const Mesh& mesh) {
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i)
    text += (i == 0 ? "" : ", ") + named(graph.tensor(ids[i]), shardings.at(i), mesh);
  return text;
}

// One line on the lowered condition and body of a loop.
std::string loop_text(const LoopSteps& loop, const Mesh& mesh) {
  const EntryPoint& body = loop.body.entry;
  std::string results;
  for (const Binding& output : body.outputs) {
    const Value& value = body.values[output.value];
    results += fmt::format("{}{}[{}]", results.empty() ? "" : ", ", output.name,
                           to_string(value.type.dims, value.sharding, mesh));
  }
  return fmt::format("    condition in {} steps, body in {} steps, giving {}\n",
                     loop.condition.entry.steps.size(), body.steps.size(), results);
}

std::string carries_text(const Graph& graph, const Node& node, const std::vector<Carry>& carries,
                         const Mesh& mesh) {
  std::string text;
  for (const Carry& carry : carries) {
    std::string operands;
    for (const size_t i : carry.operands)
      operands += (operands.empty() ? "" : ", ") + graph.tensor(node.operands[i]).name;
    text += fmt::format("    partial over {}: {}\n", mesh.names({carry.axis}), operands);
  }
  return text;
}

// Describes the fault in a sharding of a tensor of these dimensions; "" if there is none.
std::string problem_of(const Sharding& sharding, const Dims& dims, const Mesh& mesh) {
  if (sharding.dims.size() != dims.size())
    return fmt::format("the sharding has {} dimensions, but the tensor has {}", sharding.dims.size(),
                       dims.size());
  if (uses_axis_twice(sharding)) return "the sharding uses an axis twice";
  for (const AxisList& axes : sharding.dims)
    for (const int axis : axes)
      if (axis < 0 || axis >= static_cast<int>(mesh.axes().size()) || sharding.is_partial(axis))
        return "the sharding uses an axis twice, or one that the mesh lacks";
  return "";
}

std::string strategy_problem(const Graph& graph, const Node& node, const Strategy& strategy,
                             const Mesh& mesh) {
  const bool computes = node.kind == NodeKind::kOp && node.op->family != Family::kRelabel;
  if (!computes && node.kind != NodeKind::kLoop) return "";
  if (strategy.operands.size() != node.operands.size() || strategy.results.size() != node.results.size())
    return "the strategy does not give a sharding for every operand and result";
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (std::string problem = problem_of(strategy.operands[i], graph.type(node.operands[i]).dims, mesh);
        !problem.empty())
      return problem;
  for (size_t i = 0; i < node.results.size(); ++i)
    if (std::string problem = problem_of(strategy.results[i], graph.type(node.results[i]).dims, mesh);
        !problem.empty())
      return problem;
  if (!computes) return "";
  const std::vector<TensorType> operands = graph.operand_types(node), results = graph.result_types(node);
  const std::vector<Factor> factors = node.op->roles({node.attributes, operands}, results);
  const Factor* moved = moved_factor(factors);
  const bool exchanges = moved && !strategy.operands[0].dims[static_cast<size_t>(moved->operands[0])].empty();
  for (const Sharding& operand : strategy.operands)
    if (!operand.partial.empty()) return "the strategy takes an operand partial";
  for (const Sharding& result : strategy.results)
    for (const Partial& partial : result.partial)
      if (!becomes_partial(factors, strategy.operands, partial))
        return "a result says that it is partial, but it is whole";
  return factors_problem(factors, strategy.operands, strategy.results, exchanges);
}

std::string carry_problem(const Graph& graph, const Node& node, const Carry& carry) {
  if (node.kind != NodeKind::kOp) return "only an operation lets partial sums through";
  SumOperands operands{std::vector<bool>(node.operands.size()), {}};
  for (const size_t i : carry.operands) {
    if (i >= node.operands.size()) return "a partial sum comes from an operand that does not exist";
    operands.partial[i] = true;
  }
  for (const TensorId id : node.operands) operands.zero.push_back(graph.constant_value(id) == 0.0);
  const std::vector<TensorType> types = graph.operand_types(node), results = graph.result_types(node);
  const OpCall call{node.attributes, types};
  return passes_sum(*node.op, call, node.op->roles(call, results), operands)
             ? ""
             : "it is not linear in the operands it takes partial";
}

// Checks that a part of a loop reads what the loop takes, in the same sharding.
std::string leaves_problem(const EntryPoint& part, const Graph& graph, const Node& node,
                           const Strategy& strategy) {
  for (const Binding& input : part.inputs) {
    const Value& leaf = part.values.at(input.value.index());
    size_t operand = 0;
    while (operand < node.operands.size() && leaf_name(operand) != input.name) ++operand;
    if (operand == node.operands.size()) return fmt::format("the loop has no operand for '{}'", input.name);
    if (leaf.type != graph.type(node.operands[operand]) || leaf.sharding != strategy.operands[operand])
      return fmt::format("'{}' is of another type or sharding than the loop's operand", input.name);
  }
  return "";
}

// Checks that the steps of a loop fit its node: a carried tensor is split alike in every round, and a sum as
// the body gives its terms.
std::string loop_problem(const Graph& graph, const Node& node, const Strategy& strategy,
                         const LoopSteps& loop) {
  const EntryPoint& body = loop.body.entry;
  for (const EntryPoint* part : {&loop.condition.entry, &body})
    if (std::string problem = leaves_problem(*part, graph, node, strategy); !problem.empty()) return problem;
  if (loop.times != node.loop->times || loop.condition.entry.outputs.size() != (loop.times > 0 ? 0 : 1))
    return "the steps of the loop run for another number of rounds";
  if (body.outputs.size() != node.results.size() || loop.sums != node.loop->sums ||
      loop.body.sums != loop.sums)
    return "the steps of the loop give other results";
  for (size_t i = 0; i < node.results.size(); ++i) {
    const Value& made = body.values.at(body.outputs[i].value.index());
    if (made.type != graph.type(node.results[i]) || made.sharding != strategy.results[i])
      return fmt::format("'{}' leaves the loop in another type or sharding than its body", made.name);
    if (i < node.loop->carried() && made.sharding != strategy.operands[i])
      return fmt::format("'{}' leaves a round in another sharding than it enters the next", made.name);
  }
  return "";
}

std::string node_problem(const ShardedEntry& sharded, size_t n, const Mesh& mesh) {
  const Graph& graph = sharded.entry.graph;
  const Node& node = graph.nodes()[n];
  for (const TensorId id : node.results)
    if (std::string problem = problem_of(sharded.shardings[id], graph.type(id).dims, mesh); !problem.empty())
      return problem;
  if (!sharded.strategies.empty()) {
    const Strategy& strategy = sharded.strategies[n];
    if (std::string problem = strategy_problem(graph, node, strategy, mesh); !problem.empty()) return problem;
  }
  if (!sharded.carries.empty())
    for (const Carry& carry : sharded.carries[n])
      if (std::string problem = carry_problem(graph, node, carry); !problem.empty()) return problem;
  return "";
}

}  // namespace

bool is_decided_alike(const ShardedEntry& a, const ShardedEntry& b) {
  return a.shardings == b.shardings && a.strategies == b.strategies && a.carries == b.carries &&
         a.forms == b.forms && a.outputs == b.outputs &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), is_decided_alike);
}

std::string to_string(const ShardedEntry& sharded, const Mesh& mesh) {
  const Graph& graph = sharded.entry.graph;
  std::string text;
  size_t loop = 0;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    text += to_string(graph, node);
    std::vector<Sharding> own;
    for (const TensorId id : node.results) own.push_back(sharded.shardings[id]);
    text += fmt::format("    {}\n", named(graph, node.results, own, mesh));
    if (n < sharded.strategies.size() && !sharded.strategies[n].results.empty())
      text += fmt::format("    runs as {} <- {}\n",
                          named(graph, node.results, sharded.strategies[n].results, mesh),
                          named(graph, node.operands, sharded.strategies[n].operands, mesh));
    if (node.loop && loop < sharded.loops.size()) text += loop_text(sharded.loops[loop++], mesh);
    if (n < sharded.carries.size()) text += carries_text(graph, node, sharded.carries[n], mesh);
  }
  return text;
}

std::string sharding_problem(const ShardedEntry& sharded, const Mesh& mesh) {
  const Graph& graph = sharded.entry.graph;
  const size_t nodes = graph.nodes().size();
  if (sharded.shardings.size() != graph.tensors().size()) return "not every tensor has a sharding";
  if (!sharded.strategies.empty() && sharded.strategies.size() != nodes)
    return "not every node has a strategy";
  if (!sharded.carries.empty() && sharded.carries.size() != nodes)
    return "partial sums are not known of every node";
  size_t loop = 0;
  for (size_t n = 0; n < nodes; ++n) {
    const Node& node = graph.nodes()[n];
    std::string problem = node_problem(sharded, n, mesh);
    if (problem.empty() && node.loop && !sharded.loops.empty())
      problem = loop < sharded.loops.size()
                    ? loop_problem(graph, node, sharded.strategies[n], sharded.loops[loop++])
                    : "the loop has no steps";
    if (!problem.empty())
      return fmt::format("'{}': {}", node.results.empty() ? "" : graph.tensor(node.results[0]).name, problem);
  }
  return "";
}

std::string storage_problem(const ShardedEntry& sharded, const std::vector<ProgramVariable>& variables,
                            const Mesh& mesh) {
  const Graph& graph = sharded.entry.graph;
  std::map<std::string_view, const Sharding*> storage;
  for (const ProgramVariable& variable : variables) storage.emplace(variable.decl.name, &variable.sharding);
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kVariable) continue;
    const Tensor& tensor = graph.tensor(node.results[0]);
    const auto stored = storage.find(tensor.name);
    if (stored == storage.end()) return fmt::format("there is no variable '{}'", tensor.name);
    const Sharding& sharding = sharded.shardings[node.results[0]];
    if (sharding != *stored->second)
      return fmt::format("the variable {} is stored as {}", named(tensor, sharding, mesh),
                         named(tensor, *stored->second, mesh));
  }
  return "";
}

}  // namespace mtfc
