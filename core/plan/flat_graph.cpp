#include "core/plan/flat_graph.h"

#include <algorithm>

namespace mtfc {
namespace {

size_t add_scope(FlatGraph& flat, const Graph& graph, int64_t times) {
  const size_t scope = flat.scopes.size();
  flat.scopes.push_back({&graph, times, FlatTensorId(flat.tensors.size())});
  for (const Tensor& tensor : graph.tensors()) flat.tensors.push_back({&tensor, scope});
  for (const Node& node : graph.nodes()) {
    FlatNode added{&node, scope};
    if (node.loop) {
      const int64_t rounds = times * std::max<int64_t>(node.loop->times, 1);
      added.condition = add_scope(flat, node.loop->condition.graph, rounds);
      added.body = add_scope(flat, node.loop->body.graph, rounds);
    }
    flat.scopes[scope].nodes.push_back(flat.nodes.add(added));
  }
  return scope;
}

}  // namespace

FlatGraph flat_graph(const Graph& graph) {
  FlatGraph flat;
  add_scope(flat, graph, 1);
  return flat;
}

std::vector<FlatTensorId> FlatGraph::leaves(const FlatNode& loop, size_t i) const {
  std::vector<FlatTensorId> found;
  for (const size_t part : {loop.condition, loop.body})
    if (const TensorId leaf = scopes[part].graph->find(leaf_name(i)); leaf != kNoTensor)
      found.push_back(scopes[part].flat(leaf));
  return found;
}

FlatTensorId FlatGraph::given(const FlatNode& loop, size_t i) const {
  return scopes[loop.body].flat(loop.node->loop->body.results[i]);
}

}  // namespace mtfc
