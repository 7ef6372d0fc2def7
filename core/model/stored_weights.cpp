#include "core/model/stored_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/graph/entry_graph.h"

namespace mtfc {
namespace {

// This is what all uses of a variable have in common.
struct Uses {
  bool fit = true;  // each of them can read it in fewer bits
  std::optional<Dims>
      rows;  // the dimensions that tell its rows apart, in its order; nothing if uses take different rows
};
using VariableUses = std::map<std::string, Uses>;

// The result is the operand under another name.
bool copies(const Node& node) {
  return node.kind == NodeKind::kOp && node.op->traits.copies == Copies::kOperand;
}

ReadsStored reads_stored(const Node& node) {
  return node.kind == NodeKind::kOp ? node.op->traits.reads_stored : ReadsStored::kNever;
}

bool is_scalar(const Graph& graph, TensorId id) {
  return graph.type(id).dims.empty();
}

// The operands of an einsum that are not scalars, if there are two.
std::optional<std::pair<size_t, size_t>> factors_of(const Graph& graph, const Node& node) {
  std::vector<size_t> tensors;
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (!is_scalar(graph, node.operands[i])) tensors.push_back(i);
  if (tensors.size() != 2 || node.attributes.has("dtype")) return std::nullopt;
  return std::pair(tensors[0], tensors[1]);
}

// The dimensions that tell apart the rows of the operand `at`, for this use of it; nothing if the use needs f32.
std::optional<Dims> row_dims(const Graph& graph, const Node& node, size_t at) {
  const Dims& own = graph.type(node.operands[at]).dims;
  const ReadsStored reads = reads_stored(node);
  if (reads == ReadsStored::kPicks && at == 0 && node.operands.size() == 2 && !node.attributes.has("over"))
    return Dims{node.attributes.get<Dim>("dim")};
  if (reads != ReadsStored::kWidens) return std::nullopt;
  const auto factors = factors_of(graph, node);
  if (!factors || (at != factors->first && at != factors->second)) return std::nullopt;
  const size_t other = at == factors->first ? factors->second : factors->first;
  const Dims& result = graph.type(node.results[0]).dims;
  const Dims contracted = without(own, result);
  if (contracted.empty() || !without(contracted, graph.type(node.operands[other]).dims).empty())
    return std::nullopt;
  return without(own, contracted);
}

void look_at_uses(const Graph& graph, VariableUses& uses) {
  PerTensor<std::string> names(graph.tensors().size());
  for (const Node& node : graph.nodes()) {
    if (node.kind == NodeKind::kVariable && graph.type(node.results[0]).dtype == DType::kF32)
      names[node.results[0]] = graph.tensor(node.results[0]).name;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const std::string& name = names[node.operands[i]];
      if (name.empty()) continue;
      if (copies(node)) {
        names[node.results[0]] = name;
        continue;
      }
      // If both operands of a product were stored, none would be f32, which the product needs.
      const auto is_variable = [&](TensorId operand) { return !names[operand].empty(); };
      const bool is_alone = std::count_if(node.operands.begin(), node.operands.end(), is_variable) == 1;
      const std::optional<Dims> rows = is_alone ? row_dims(graph, node, i) : std::nullopt;
      const auto [at, is_new] = uses.emplace(name, Uses{rows.has_value(), rows});
      if (is_new) continue;
      at->second.fit = at->second.fit && rows;
      if (at->second.rows != rows) at->second.rows.reset();
    }
  }
}

// A weight as it is stored.
struct StoredWeight {
  DType dtype;
  std::string scale;  // the name of its variable, or ""
  Dims rows;
};
using StoredWeights = std::map<std::string, StoredWeight, std::less<>>;

class Rewriter {
 public:
  Rewriter(const Graph& from, const StoredWeights& weights) : from_(from), weights_(weights) {}

  std::optional<std::vector<TensorId>> operator()(GraphBuilder& b, const Node& node,
                                                  const std::vector<TensorId>& operands) {
    if (node.kind == NodeKind::kVariable) return variable(b, node.results[0]);
    for (const TensorId operand : operands) {
      const auto found = scales_.find(operand);
      if (found == scales_.end()) continue;
      if (copies(node)) {
        const TensorId same = b.add(*node.op, {operand}, node.attributes)[0];
        scales_.emplace(same, found->second);
        return std::vector<TensorId>{same};
      }
      const bool picks = reads_stored(node) == ReadsStored::kPicks;
      return std::vector<TensorId>{picks ? gathered(b, node, operands, found->second)
                                         : multiplied(b, node, operands, found->second)};
    }
    return std::nullopt;
  }

 private:
  std::optional<std::vector<TensorId>> variable(GraphBuilder& b, TensorId old) {
    const Tensor& tensor = from_.tensor(old);
    const auto found = weights_.find(tensor.name);
    if (found == weights_.end()) return std::nullopt;
    const StoredWeight& weight = found->second;
    const TensorId stored = b.add_variable(tensor.name, {weight.dtype, from_.type(old).dims});
    b.mark_from_model(stored, tensor.from_model);
    const bool is_scaled = !weight.scale.empty();
    scales_.emplace(stored, is_scaled ? b.add_variable(weight.scale, {DType::kF32, weight.rows}) : kNoTensor);
    return std::vector<TensorId>{stored};
  }

  static TensorId gathered(GraphBuilder& b, const Node& node, const std::vector<TensorId>& operands,
                           TensorId scale) {
    const TensorId picked = b.cast(b.add(*node.op, operands, node.attributes)[0], DType::kF32);
    if (scale == kNoTensor) return picked;
    return b.op("mul", {picked, b.add(*node.op, {scale, operands[1]}, node.attributes)[0]});
  }

  // The product of the two tensors, which the scale and scalars multiply.
  static TensorId multiplied(GraphBuilder& b, const Node& node, const std::vector<TensorId>& operands,
                             TensorId scale) {
    std::vector<TensorId> factors, scalars;
    for (const TensorId id : operands) (b.dims(id).empty() ? scalars : factors).push_back(id);
    Attributes attributes = node.attributes;
    attributes.set("dtype", DType::kF32);
    TensorId made = b.add(*node.op, factors, attributes)[0];
    if (scale != kNoTensor) made = b.op("mul", {made, scale});
    for (const TensorId scalar : scalars) made = b.op("mul", {made, scalar});
    return made;
  }

  const Graph& from_;
  const StoredWeights& weights_;
  std::map<TensorId, TensorId> scales_;  // of the stored tensors of the new graph; kNoTensor for bf16
};

// Replaces the graph; `outputs` and the values of `assignments` are of the new one then.
void rewrite(Graph& graph, const std::vector<TensorId*>& outputs, std::vector<Assignment>& assignments,
             const StoredWeights& weights) {
  EntryGraph entry{.name = "stored", .graph = graph, .outputs = {}, .assignments = assignments};
  for (const TensorId* output : outputs) entry.outputs.push_back({"", *output});
  EntryGraph made = rewritten(entry, Rewriter(graph, weights));
  for (size_t i = 0; i < outputs.size(); ++i) *outputs[i] = made.outputs[i].tensor;
  assignments = std::move(made.assignments);
  graph = std::move(made.graph);
}

// The variables that can be stored, and how.
StoredWeights stored_weights(const Model& model, WeightFormat format) {
  const bool is_scaled = format == WeightFormat::kInt8;
  VariableUses uses;
  look_at_uses(model.graph, uses);
  look_at_uses(model.decode->graph, uses);
  // A variable stays as it is where it is an output itself, by its own name or by that of an identity.
  const auto keep = [&](const Graph& graph, TensorId id) {
    while (copies(graph.producer(id))) id = graph.producer(id).operands[0];
    uses.erase(graph.tensor(id).name);
  };
  for (const NamedTensor& output : model.outputs) keep(model.graph, output.tensor);
  for (const HeldTensor& held : model.decode->held) keep(model.graph, held.tensor);
  for (const PromptTensor& prompt : model.decode->prompt) keep(model.graph, prompt.tensor);
  keep(model.decode->graph, model.decode->logits);
  for (const Assignment& assignment : model.decode->assignments) keep(model.decode->graph, assignment.value);
  for (const Assignment& assignment : model.assignments) {
    keep(model.graph, assignment.value);
    uses.erase(assignment.variable);
  }
  StoredWeights weights;
  for (const VariableDecl& variable : model.variables) {
    const auto found = uses.find(variable.name);
    if (found == uses.end() || !found->second.fit || (is_scaled && !found->second.rows)) continue;
    // The name of a variable of a model has no dot.
    weights[variable.name] = is_scaled
                                 ? StoredWeight{DType::kI8, variable.name + ".scale", *found->second.rows}
                                 : StoredWeight{DType::kBF16, "", {}};
  }
  return weights;
}

}  // namespace

Model with_stored_weights(Model model, WeightFormat format) {
  if (format == WeightFormat::kF32 || !model.decode) return model;
  const StoredWeights weights = stored_weights(model, format);
  model.train.reset();
  model.train_outputs.clear();
  std::vector<VariableDecl> variables;
  for (VariableDecl& variable : model.variables) {
    variable.trainable = false;
    variables.push_back(std::move(variable));
    VariableDecl& own = variables.back();
    const auto found = weights.find(own.name);
    if (found == weights.end()) continue;
    own.type.dtype = found->second.dtype;
    own.scale = found->second.scale;
    if (own.scale.empty()) continue;
    VariableDecl scale;
    scale.name = own.scale;
    scale.type = {DType::kF32, found->second.rows};
    scale.trainable = false;
    scale.location = own.location;
    scale.is_scale = true;
    variables.push_back(std::move(scale));
  }
  model.variables = std::move(variables);
  std::vector<TensorId*> outputs;
  for (NamedTensor& output : model.outputs) outputs.push_back(&output.tensor);
  for (HeldTensor& held : model.decode->held) outputs.push_back(&held.tensor);
  for (PromptTensor& prompt : model.decode->prompt) outputs.push_back(&prompt.tensor);
  rewrite(model.graph, outputs, model.assignments, weights);
  rewrite(model.decode->graph, {&model.decode->logits}, model.decode->assignments, weights);
  return model;
}

}  // namespace mtfc
