#include "core/rewrite/store_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/diagnostics/suggest.h"
#include "core/graph/entry_graph.h"
#include "core/model/model_graphs.h"

namespace mtfc {
namespace {

// This is what all uses of a variable have in common.
struct Uses {
  bool fit = true;  // each of them can read it in fewer bits
  // The dimensions that tell its rows apart, in its order; nothing if uses take different rows.
  std::optional<Dims> rows;
};
using VariableUses = std::map<std::string, Uses>;

// The result is the operand under another name.
bool copies(const Node& node) {
  return node.kind == NodeKind::kOp && node.op->traits.copies == Copies::kOperand;
}

ReadsStored reads_stored(const Node& node) {
  return node.kind == NodeKind::kOp ? node.op->traits.reads_stored : ReadsStored::kNever;
}

// The dimensions that tell apart the rows of the operand `at`, for this use of it; nothing if the use needs f32.
std::optional<Dims> row_dims(const Graph& graph, const Node& node, size_t at) {
  const Dims& own = graph.type(node.operands[at]).dims;
  const ReadsStored reads = reads_stored(node);
  if (reads == ReadsStored::kPicks && at == 0 && node.operands.size() == 2 && !node.attributes.has("over"))
    return Dims{node.attributes.get<Dim>("dim")};
  std::vector<size_t> factors;  // the operands that are no scalars
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (!graph.type(node.operands[i]).dims.empty()) factors.push_back(i);
  if (reads != ReadsStored::kWidens || own.empty() || factors.size() != 2 || node.attributes.has("dtype"))
    return std::nullopt;
  const size_t other = at == factors[0] ? factors[1] : factors[0];
  const Dims contracted = without(own, graph.type(node.results[0]).dims);
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

class Rewriter {
 public:
  Rewriter(const Graph& from, const std::vector<VariableDecl>& stored) : from_(from), stored_(stored) {}

  Replaced operator()(GraphBuilder& b, const Node& node, const TensorIds& operands) {
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
  Replaced variable(GraphBuilder& b, TensorId old) {
    const Tensor& tensor = from_.tensor(old);
    const VariableDecl* own = find_named(stored_, tensor.name);
    if (!own || own->type == tensor.type) return std::nullopt;
    const TensorId stored = b.add_variable(tensor.name, own->type);
    b.mark_from_model(stored, tensor.from_model);
    const VariableDecl* scale = find_named(stored_, own->scale);
    scales_.emplace(stored, scale ? b.add_variable(scale->name, scale->type) : kNoTensor);
    return std::vector<TensorId>{stored};
  }

  static TensorId gathered(GraphBuilder& b, const Node& node, const TensorIds& operands, TensorId scale) {
    const TensorId picked = b.cast(b.add(*node.op, operands, node.attributes)[0], DType::kF32);
    if (scale == kNoTensor) return picked;
    return b.op("mul", {picked, b.add(*node.op, {scale, operands[1]}, node.attributes)[0]});
  }

  // The product of the two tensors, which the scale and scalars multiply.
  static TensorId multiplied(GraphBuilder& b, const Node& node, const TensorIds& operands, TensorId scale) {
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
  const std::vector<VariableDecl>& stored_;
  std::map<TensorId, TensorId> scales_;  // of the stored tensors of the new graph; kNoTensor for bf16
};

VariableUses all_uses(const std::vector<EntryGraph>& graphs) {
  VariableUses uses;
  for (const EntryGraph& entry : graphs) look_at_uses(entry.graph, uses);
  // A variable stays as it is where it is assigned, or delivered by its own name or by that of a copy.
  for (const EntryGraph& entry : graphs) {
    const auto keep = [&](TensorId id) {
      while (copies(entry.graph.producer(id))) id = entry.graph.producer(id).operands[0];
      uses.erase(entry.graph.tensor(id).name);
    };
    for (const NamedTensor& output : entry.outputs) keep(output.tensor);
    for (const Assignment& assignment : entry.assignments) {
      keep(assignment.value);
      uses.erase(assignment.variable);
    }
  }
  return uses;
}

}  // namespace

Model store_weights(Model model, WeightFormat format) {
  if (format == WeightFormat::kF32 || !model.decode) return model;
  model.train.reset();
  model.train_outputs.clear();
  std::vector<EntryGraph> graphs = graphs_of(model);
  const VariableUses uses = all_uses(graphs);
  const bool is_scaled = format == WeightFormat::kInt8;
  std::vector<VariableDecl> variables;
  for (VariableDecl& variable : model.variables) {
    variable.trainable = false;
    variables.push_back(std::move(variable));
    VariableDecl& own = variables.back();
    const auto found = uses.find(own.name);
    if (found == uses.end() || !found->second.fit || (is_scaled && !found->second.rows)) continue;
    own.type.dtype = is_scaled ? DType::kI8 : DType::kBF16;
    if (!is_scaled) continue;
    own.scale = own.name + ".scale";  // the name of a variable of a model has no dot
    variables.push_back({own.scale, {DType::kF32, *found->second.rows}, {}, false, false, own.location});
    variables.back().is_scale = true;
  }
  model.variables = std::move(variables);
  for (EntryGraph& entry : graphs) entry = rewritten(entry, Rewriter(entry.graph, model.variables));
  set_graphs(model, std::move(graphs));
  return model;
}

}  // namespace mtfc
