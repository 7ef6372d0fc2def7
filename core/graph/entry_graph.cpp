#include "core/graph/entry_graph.h"

namespace mtfc {
namespace {

// Gives a replacement the name of the tensor that it replaces. If it has a name of its own already, either
// from the model or because data are bound to it, an `identity` node carries the second name, so that every
// name of the model stays known.
TensorId named_like(GraphBuilder& builder, TensorId id, const Tensor& replaced) {
  const Tensor& tensor = builder.graph().tensor(id);
  if (tensor.name == replaced.name || !builder.is_free(replaced.name)) return id;
  if (tensor.from_model || builder.graph().producer(id).kind != NodeKind::kOp) {
    if (!replaced.from_model) return id;
    id = builder.op("identity", {id});
  }
  builder.name(id, replaced.name);
  builder.mark_from_model(id, replaced.from_model);
  return id;
}

}  // namespace

EntryGraph rewritten(const EntryGraph& entry, const Rewrite& rewrite) {
  GraphBuilder builder;
  PerTensor<TensorId> map(entry.graph.tensors().size(), kNoTensor);
  for (const Node& node : entry.graph.nodes()) {
    std::vector<TensorId> operands;
    for (const TensorId id : node.operands) operands.push_back(map[id]);
    builder.set_origin(node.origin);
    const std::optional<std::vector<TensorId>> results = rewrite(builder, node, operands);
    std::vector<TensorId> stand_ins = results ? *results : builder.copy(entry.graph, node, operands);
    for (size_t i = 0; i < stand_ins.size(); ++i) {
      if (results && stand_ins[i] != kNoTensor)
        stand_ins[i] = named_like(builder, stand_ins[i], entry.graph.tensor(node.results[i]));
      map[node.results[i]] = stand_ins[i];
    }
  }
  EntryGraph result{entry.name, {}, entry.outputs, entry.assignments, entry.sums};
  for (NamedTensor& output : result.outputs) output.tensor = map[output.tensor];
  for (Assignment& assignment : result.assignments) assignment.value = map[assignment.value];
  result.graph = std::move(builder).build();
  return result;
}

}  // namespace mtfc
