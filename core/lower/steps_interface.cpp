#include "core/lower/steps_interface.h"

#include <fmt/format.h>

#include <algorithm>

namespace mtfc {
namespace {

const Value& value_of(const PartitionedEntry& steps, ValueId id) {
  return steps.entry.values.at(id.index());
}

// Forms of a tensor are called like the tensor, with a suffix after '@'.
bool is_form_of(const Value& value, const Tensor& tensor) {
  return value.type == tensor.type &&
         (value.name == tensor.name || value.name.starts_with(tensor.name + "@"));
}

// True if the tensor is the variable itself, perhaps under other dimensions for a while: nothing is to be
// stored.
bool is_variable(const Graph& graph, TensorId id, const std::string& variable) {
  const Node& node = graph.producer(id);
  if (node.kind == NodeKind::kOp && node.op->family == Family::kRelabel)
    return is_variable(graph, node.operands[0], variable);
  return node.kind == NodeKind::kVariable && graph.tensor(node.results[0]).name == variable;
}

std::string assignment_problem(const EntryGraph& graph, const PartitionedEntry& steps,
                               const Assignment& assignment, const std::vector<ProgramVariable>& variables) {
  for (const auto& [variable, fresh] : steps.assignments) {
    const int stored = steps.variable_of.at(variable.index());
    if (stored < 0 || variables[static_cast<size_t>(stored)].decl.name != assignment.variable) continue;
    const Tensor& tensor = graph.graph.tensor(assignment.value);
    return is_form_of(value_of(steps, fresh), tensor)
               ? ""
               : fmt::format("'{}' gets '{}' instead of '{}'", assignment.variable,
                             value_of(steps, fresh).name, tensor.name);
  }
  return is_variable(graph.graph, assignment.value, assignment.variable)
             ? ""
             : fmt::format("'{}' gets no new value", assignment.variable);
}

}  // namespace

std::string difference_of_interface(const EntryGraph& graph, const PartitionedEntry& steps,
                                    const std::vector<ProgramVariable>& variables) {
  for (const Binding& input : steps.entry.inputs) {
    const TensorId leaf = graph.graph.find(input.name);
    if (leaf == kNoTensor || graph.graph.producer(leaf).kind != NodeKind::kInput)
      return fmt::format("there is no input '{}'", input.name);
  }
  if (steps.entry.outputs.size() != graph.outputs.size() || steps.sums != graph.sums)
    return fmt::format("there were {} outputs, and now there are {}", graph.outputs.size(),
                       steps.entry.outputs.size());
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Binding& given = steps.entry.outputs[i];
    const Tensor& tensor = graph.graph.tensor(graph.outputs[i].tensor);
    if (given.name != graph.outputs[i].name || !is_form_of(value_of(steps, given.value), tensor))
      return fmt::format("the output '{}' is not '{}', but '{}'", given.name, tensor.name,
                         value_of(steps, given.value).name);
  }
  if (steps.assignments.size() > graph.assignments.size()) return "more variables get new values than before";
  for (const Assignment& assignment : graph.assignments)
    if (std::string problem = assignment_problem(graph, steps, assignment, variables); !problem.empty())
      return problem;
  return "";
}

}  // namespace mtfc
