#include "core/rewrite/remove_dead.h"

#include <algorithm>

#include "core/graph/reachability.h"

namespace mtfc {

PerTensor<bool> needed_tensors(const EntryGraph& entry) {
  PerTensor<bool> needed(entry.graph.tensors().size(), false);
  for (const NamedTensor& output : entry.outputs) needed[output.tensor] = true;
  for (const Assignment& assignment : entry.assignments) needed[assignment.value] = true;
  return with_ancestors(entry.graph, std::move(needed));
}

EntryGraph remove_dead(EntryGraph entry) {
  const Graph& graph = entry.graph;
  const PerTensor<bool> needed = needed_tensors(entry);
  const auto is_live = [&](const Node& node) {
    return std::any_of(node.results.begin(), node.results.end(), [&](TensorId id) { return needed[id]; });
  };
  if (std::all_of(graph.nodes().begin(), graph.nodes().end(), is_live)) return entry;
  const auto replace = [&](GraphBuilder&, const Node& node, const TensorIds&) -> Replaced {
    if (is_live(node)) return std::nullopt;
    return std::vector<TensorId>(node.results.size(), kNoTensor);
  };
  return rewritten(std::move(entry), replace);
}

}  // namespace mtfc
