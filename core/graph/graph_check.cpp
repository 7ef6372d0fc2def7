#include "core/graph/graph_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/graph/custom_gradient.h"

namespace mtfc {
namespace {

const std::string& name_of(const Graph& graph, const Node& node) {
  static const std::string kNone = "(a node without results)";
  return node.results.empty() ? kNone : graph.tensor(node.results[0]).name;
}

bool exists(const Graph& graph, TensorId id) {
  return graph.tensors().has(id);
}

// "" if the node is a correct use of its operation, otherwise what is wrong.
std::string use_problem(const Graph& graph, const Node& node, const Signature& signature) {
  const auto count = static_cast<int>(node.operands.size());
  if (count < signature.min_operands || (signature.max_operands >= 0 && count > signature.max_operands))
    return fmt::format("'{}' does not take {} operands", signature.name, count);
  const std::vector<TensorType> operands = graph.operand_types(node);
  try {
    if (signature.infer({node.attributes, operands}) != graph.result_types(node))
      return fmt::format("its results are not of the types that '{}' gives", signature.name);
  } catch (const OpError& error) {
    return error.what();
  }
  return "";
}

// `leaves`: the types of the leaves that the part may have.
std::string part_problem(const std::vector<TensorType>& leaves, const LoopPart& part) {
  if (std::string problem = graph_problem({"", part.graph, {}, {}}); !problem.empty()) return problem;
  for (const TensorId id : part.results)
    if (!exists(part.graph, id))
      return fmt::format("the loop gives tensor {}, which does not exist", id.number());
  std::map<std::string, size_t> operands;
  for (size_t i = 0; i < leaves.size(); ++i) operands.emplace(leaf_name(i), i);
  for (const Node& leaf : part.graph.nodes()) {
    if (leaf.kind == NodeKind::kVariable) return "a loop reads variables as operands only";
    if (leaf.kind != NodeKind::kInput) continue;
    const Tensor& tensor = part.graph.tensor(leaf.results[0]);
    const auto operand = operands.find(tensor.name);
    if (operand == operands.end()) return fmt::format("the loop has no operand for '{}'", tensor.name);
    if (leaves[operand->second] != tensor.type)
      return fmt::format("'{}' is of another type than the loop's operand", tensor.name);
  }
  return "";
}

std::string loop_problem(const Graph& graph, const Node& node) {
  const GraphLoop& loop = *node.loop;
  for (const LoopPart* part : {&loop.condition, &loop.body})
    if (std::string problem = part_problem(graph.operand_types(node), *part); !problem.empty())
      return problem;
  if (loop.is_counted() != (loop.times > 0)) return "a loop has either a number of rounds or a condition";
  if (loop.sums > loop.body.results.size() || loop.body.results.size() != node.results.size())
    return "the loop gives other results than its body";
  for (size_t i = 0; i < node.results.size(); ++i) {
    const TensorType& made = loop.body.graph.type(loop.body.results[i]);
    if (made != graph.type(node.results[i])) return "the loop gives a result of another type than its body";
    if (i < loop.carried() && (i >= node.operands.size() || made != graph.type(node.operands[i])))
      return "the loop gives a carried tensor back in another type";
  }
  return "";
}

// "" if the backward part of a node gives a gradient for each of its targets, otherwise what is wrong.
std::string backward_problem(const Graph& graph, const Node& node) {
  const auto [results, targets] = custom_gradient_counts(node);
  const LoopPart& backward = *node.backward;
  if (std::string problem = part_problem(backward_leaf_types(graph, node), backward); !problem.empty())
    return problem;
  if (backward.results.size() != targets) return "there is not one gradient for each target";
  for (size_t i = 0; i < targets; ++i)
    if (backward.graph.type(backward.results[i]) != graph.type(node.operands[results + i]))
      return "a gradient is of another type than its target";
  return "";
}

std::string node_problem(const Graph& graph, size_t n) {
  const Node& node = graph.nodes()[n];
  for (const TensorId id : node.operands)
    if (!exists(graph, id) || graph.tensor(id).node >= static_cast<int>(n))
      return "an operand does not come before its user";
  for (size_t i = 0; i < node.results.size(); ++i) {
    const TensorId id = node.results[i];
    if (!exists(graph, id) || graph.tensor(id).node != static_cast<int>(n) ||
        graph.tensor(id).result != static_cast<int>(i))
      return "a result belongs to another node";
  }
  switch (node.kind) {
    case NodeKind::kInput:
    case NodeKind::kVariable:
      return node.operands.empty() && node.results.size() == 1 ? "" : "a leaf has one result and no operands";
    case NodeKind::kOp:
      return use_problem(graph, node, node.op->signature);
    case NodeKind::kComposite:
      if (std::string problem = use_problem(graph, node, node.composite->signature); !problem.empty())
        return problem;
      return node.backward ? backward_problem(graph, node) : "";
    case NodeKind::kGradients:
      return node.operands.size() == node.results.size() + 1 ? "" : "there is not one gradient a tensor";
    case NodeKind::kLoop:
      return loop_problem(graph, node);
  }
  return "";
}

bool has_leaf(const Graph& graph, NodeKind kind, const std::string& name, const TensorType& type) {
  const TensorId id = graph.find(name);
  return id != kNoTensor && graph.producer(id).kind == kind && graph.type(id) == type;
}

}  // namespace

std::string graph_problem(const EntryGraph& entry) {
  const Graph& graph = entry.graph;
  for (size_t n = 0; n < graph.nodes().size(); ++n)
    if (const std::string problem = node_problem(graph, n); !problem.empty())
      return fmt::format("'{}': {}", name_of(graph, graph.nodes()[n]), problem);
  for (const TensorId id : graph.tensors().ids())
    if (graph.find(graph.tensor(id).name) != id)
      return fmt::format("two tensors are called '{}'", graph.tensor(id).name);
  for (const NamedTensor& output : entry.outputs)
    if (!exists(graph, output.tensor)) return fmt::format("the output '{}' names no tensor", output.name);
  for (const Assignment& assignment : entry.assignments)
    if (!exists(graph, assignment.value))
      return fmt::format("'{}' is assigned a tensor that does not exist", assignment.variable);
  return "";
}

std::string expansion_problem(const Graph& graph, bool keeps_gradients) {
  const Nodes& nodes = graph.nodes();
  const auto is_gradient = [](const Node& node) { return node.kind == NodeKind::kGradients; };
  const bool awaits_gradients = keeps_gradients && std::any_of(nodes.begin(), nodes.end(), is_gradient);
  for (const Node& node : nodes) {
    const bool has_own_gradient =
        node.kind == NodeKind::kComposite && node.composite->gradient != kGradientOfParts;
    if ((is_gradient(node) && !keeps_gradients) ||
        (node.kind == NodeKind::kComposite && !(has_own_gradient && awaits_gradients)))
      return fmt::format("'{}' has not been expanded", name_of(graph, node));
  }
  return "";
}

std::string difference_of_interface(const EntryGraph& before, const EntryGraph& after, bool changes_dtypes) {
  const auto has_changed = [&](TensorId was, TensorId is) {
    const TensorType &from = before.graph.type(was), &to = after.graph.type(is);
    return from.dims != to.dims || (from.dtype != to.dtype && !changes_dtypes);
  };
  if (before.outputs.size() != after.outputs.size() || before.sums != after.sums)
    return fmt::format("there were {} outputs, and now there are {}", before.outputs.size(),
                       after.outputs.size());
  for (size_t i = 0; i < before.outputs.size(); ++i) {
    const NamedTensor &was = before.outputs[i], &is = after.outputs[i];
    if (was.name != is.name || has_changed(was.tensor, is.tensor))
      return fmt::format("the output '{}' has become '{}' of type {}", was.name, is.name,
                         to_string(after.graph.type(is.tensor)));
  }
  if (before.assignments.size() != after.assignments.size())
    return fmt::format("there were {} assignments, and now there are {}", before.assignments.size(),
                       after.assignments.size());
  for (size_t i = 0; i < before.assignments.size(); ++i) {
    const Assignment &was = before.assignments[i], &is = after.assignments[i];
    if (was.variable != is.variable || has_changed(was.value, is.value))
      return fmt::format("the assignment to '{}' has become one of {} to '{}'", was.variable,
                         to_string(after.graph.type(is.value)), is.variable);
  }
  for (const Node& node : after.graph.nodes()) {
    if (!is_leaf(node) || changes_dtypes) continue;
    const Tensor& leaf = after.graph.tensor(node.results[0]);
    if (!has_leaf(before.graph, node.kind, leaf.name, leaf.type))
      return fmt::format("there was no leaf '{}' of type {} before", leaf.name, to_string(leaf.type));
  }
  return "";
}

}  // namespace mtfc
