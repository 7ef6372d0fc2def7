#include "core/model/model_graphs.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "core/graph/graph_check.h"

namespace mtfc {
namespace {

using Types = std::map<std::string_view, const TensorType*>;  // by name

template <typename Decl>
void add_types(const std::vector<Decl>& declared, Types& types) {
  for (const Decl& decl : declared) types.emplace(decl.name, &decl.type);
}

// "" if all leaves and assignments have the declared types, but for the order of dimensions that are assigned.
std::string declaration_problem(const EntryGraph& entry, const Types& inputs, const Types& variables) {
  const Graph& graph = entry.graph;
  for (const Node& node : graph.nodes()) {
    if (!is_leaf(node)) continue;
    const Types& types = node.kind == NodeKind::kInput ? inputs : variables;
    const Tensor& leaf = graph.tensor(node.results[0]);
    if (const auto at = types.find(leaf.name); at == types.end() || leaf.type != *at->second)
      return fmt::format("no leaf '{}' of type {} is declared", leaf.name, to_string(leaf.type));
  }
  for (const Assignment& assignment : entry.assignments)
    if (graph.type(assignment.value).dtype != variables.at(assignment.variable)->dtype)
      return fmt::format("'{}' is assigned a tensor of another dtype", assignment.variable);
  return "";
}

}  // namespace

bool rounds_variable(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kOp || !node.op->traits.converts) return false;
  return graph.producer(node.operands[0]).kind == NodeKind::kVariable &&
         graph.type(node.operands[0]).dtype == DType::kF32 &&
         graph.type(node.results[0]).dtype == DType::kBF16;
}

std::map<std::string, TensorId, std::less<>> masters(const Graph& graph) {
  std::map<std::string, TensorId, std::less<>> rounded, others;
  for (const Node& node : graph.nodes())
    for (const TensorId id : node.operands)
      if (graph.producer(id).kind == NodeKind::kVariable)
        (rounds_variable(graph, node) ? rounded : others).emplace(graph.tensor(id).name, node.results[0]);
  std::erase_if(rounded, [&](const auto& master) { return others.contains(master.first); });
  return rounded;
}

std::vector<EntryGraph> graphs_of(const Model& model) {
  std::vector<EntryGraph> graphs = {
      {.name = "model", .graph = model.graph, .outputs = model.outputs, .assignments = model.assignments}};
  if (model.train) graphs[0].outputs.push_back({"", model.train->loss});
  if (!model.decode) return graphs;
  const DecodeSpec& decode = *model.decode;
  std::vector<Assignment>& assignments = graphs[0].assignments;
  for (const HeldTensor& held : decode.held) assignments.push_back({held.cache, held.tensor, held.location});
  for (const PromptTensor& prompt : decode.prompt)
    assignments.push_back({prompt.cache, prompt.tensor, prompt.location});
  graphs.push_back({"decode", decode.graph, {{"", decode.logits}}, decode.assignments});
  return graphs;
}

void set_graphs(Model& model, std::vector<EntryGraph> graphs) {
  auto output = graphs[0].outputs.begin();
  auto value = graphs[0].assignments.begin();
  for (NamedTensor& own : model.outputs) own.tensor = output++->tensor;
  if (model.train) model.train->loss = output->tensor;
  for (Assignment& own : model.assignments) own.value = value++->value;
  model.graph = std::move(graphs[0].graph);
  if (!model.decode) return;
  DecodeSpec& decode = *model.decode;
  for (HeldTensor& held : decode.held) held.tensor = value++->value;
  for (PromptTensor& prompt : decode.prompt) prompt.tensor = value++->value;
  decode.logits = graphs[1].outputs[0].tensor;
  decode.assignments = std::move(graphs[1].assignments);
  decode.graph = std::move(graphs[1].graph);
}

std::string model_problem(const Model& before, const Model& model) {
  const std::vector<EntryGraph> graphs = graphs_of(model);
  std::vector<EntryGraph> were = graphs_of(before);
  if (before.train && !model.train) were[0].outputs.pop_back();  // which alone delivers the loss
  Types variables;
  add_types(model.variables, variables);
  if (model.decode) add_types(model.decode->caches, variables);
  for (size_t i = 0; i < graphs.size(); ++i) {
    Types inputs;
    add_types(i == 0 ? model.inputs : model.decode->inputs, inputs);
    std::string problem = graph_problem(graphs[i]);
    if (problem.empty()) problem = declaration_problem(graphs[i], inputs, variables);
    if (problem.empty()) problem = difference_of_interface(were[i], graphs[i], true);
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace mtfc
