#include "core/passes/graph/remove_dead.h"

#include <algorithm>

#include "core/graph/reachability.h"

namespace mtfc {

EntryGraph remove_dead(const EntryGraph& entry) {
  const Graph& graph = entry.graph;
  std::vector<bool> needed(graph.tensors().size(), false);
  for (const NamedTensor& output : entry.outputs) needed[static_cast<size_t>(output.tensor)] = true;
  for (const Assignment& assignment : entry.assignments) needed[static_cast<size_t>(assignment.value)] = true;
  needed = with_ancestors(graph, std::move(needed));
  return rewritten(entry,
                   [&](GraphBuilder&, const Node& node,
                       const std::vector<TensorId>&) -> std::optional<std::vector<TensorId>> {
                     const bool live =
                         std::any_of(node.results.begin(), node.results.end(),
                                     [&](TensorId id) { return needed[static_cast<size_t>(id)]; });
                     if (live) return std::nullopt;
                     return std::vector<TensorId>(node.results.size(), kNoTensor);
                   });
}

}  // namespace mtfc
