#include "core/passes/graph/remove_dead.h"

#include <algorithm>

#include "core/graph/reachability.h"

namespace mtfc {

EntryGraph remove_dead(const EntryGraph& entry) {
  const Graph& graph = entry.graph;
  PerTensor<bool> needed(graph.tensors().size(), false);
  for (const NamedTensor& output : entry.outputs) needed[output.tensor] = true;
  for (const Assignment& assignment : entry.assignments) needed[assignment.value] = true;
  needed = with_ancestors(graph, std::move(needed));
  return rewritten(entry,
                   [&](GraphBuilder&, const Node& node,
                       const std::vector<TensorId>&) -> std::optional<std::vector<TensorId>> {
                     const bool live = std::any_of(node.results.begin(), node.results.end(),
                                                   [&](TensorId id) { return needed[id]; });
                     if (live) return std::nullopt;
                     return std::vector<TensorId>(node.results.size(), kNoTensor);
                   });
}

}  // namespace mtfc
