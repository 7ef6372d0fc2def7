#include "core/graph/entry_graph.h"

namespace mtfc {
namespace {

// Gives a replacement the name of the tensor that it replaces. If it has a name of its own already, either
// from the model or because data are bound to it, an `identity` node carries the second name, so that every
// name of the model stays known.
TensorId named_as(GraphBuilder& builder, TensorId id, const Tensor& replaced) {
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

// The same, with what the layout states of the replaced tensor as well. `made` is the number of tensors that existed
// before the replacement was made: one of these is read by others, which may take it in any sharding.
TensorId named_like(GraphBuilder& builder, TensorId id, const Tensor& replaced, size_t made) {
  id = named_as(builder, id, replaced);
  if (replaced.offered && builder.graph().tensor(id).name == replaced.name)
    builder.offer(id, replaced.offered);
  if (!replaced.annotation) return id;
  const SharedAnnotation& own = builder.graph().tensor(id).annotation;
  if (own && own->sharding == replaced.annotation->sharding) return id;
  if (own || id.index() < made) id = named_as(builder, builder.op("identity", {id}), replaced);
  builder.annotate(id, replaced.annotation);
  return id;
}

}  // namespace

EntryGraph entry_of(const LoopPart& part, std::string name, size_t sums) {
  EntryGraph entry{std::move(name), part.graph, {}, {}, sums};
  for (const TensorId id : part.results) entry.outputs.push_back({part.graph.tensor(id).name, id});
  return entry;
}

GraphLoop with_changed_parts(const GraphLoop& loop, const std::string& entry, const PartChange& change) {
  const auto changed = [&](const LoopPart& part, size_t sums) {
    EntryGraph made = change(entry_of(part, entry, sums), loop);
    LoopPart to{std::move(made.graph), {}};
    for (const NamedTensor& output : made.outputs) to.results.push_back(output.tensor);
    return to;
  };
  return {changed(loop.condition, 0), changed(loop.body, loop.sums), loop.times, loop.sums};
}

Graph with_changed_parts(Graph graph, const std::string& entry, const PartChange& change) {
  return with_layout(
      std::move(graph), [](const Tensor&) { return StatedLayout(); },
      [&](const GraphLoop& loop) { return with_changed_parts(loop, entry, change); });
}

EntryGraph rewritten(const EntryGraph& entry, const Rewrite& rewrite) {
  return rewritten(EntryGraph(entry), rewrite);
}

EntryGraph rewritten(EntryGraph&& entry, const Rewrite& rewrite) {
  GraphBuilder builder;
  Graph& old = entry.graph;
  builder.take_over(old);
  PerTensor<TensorId> map(old.tensors().size(), kNoTensor);
  std::vector<TensorId> operands;
  while (!old.nodes().empty()) {
    const Node& node = old.nodes().front();
    operands.clear();
    for (const TensorId id : node.operands) operands.push_back(map[id]);
    builder.set_origin(node.origin);
    const size_t made = builder.graph().tensors().size();
    const Replaced results = rewrite(builder, node, operands);
    if (!results) {
      builder.take_first(old, map);
      continue;
    }
    for (size_t i = 0; i < results->size(); ++i)
      if (const TensorId id = (*results)[i]; id != kNoTensor)
        map[node.results[i]] = named_like(builder, id, old.tensor(node.results[i]), made);
    builder.drop_first(old);
  }
  EntryGraph result{
      std::move(entry.name), {}, std::move(entry.outputs), std::move(entry.assignments), entry.sums};
  for (NamedTensor& output : result.outputs) output.tensor = map[output.tensor];
  for (Assignment& assignment : result.assignments) assignment.value = map[assignment.value];
  result.graph = std::move(builder).build();
  return result;
}

}  // namespace mtfc
