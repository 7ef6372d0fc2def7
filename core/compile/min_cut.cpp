#include "core/compile/min_cut.h"

#include <algorithm>

namespace mtfc {

void FlowNetwork::add_edge(int from, int to, int64_t capacity) {
  heads_[static_cast<size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  heads_[static_cast<size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool FlowNetwork::find_levels(int source, int sink) {
  level_.assign(heads_.size(), -1);
  level_[static_cast<size_t>(source)] = 0;
  std::vector<int> queue{source};
  for (size_t i = 0; i < queue.size(); ++i)
    for (const int id : heads_[static_cast<size_t>(queue[i])]) {
      const Edge& edge = edges_[static_cast<size_t>(id)];
      if (edge.capacity == 0 || level_[static_cast<size_t>(edge.to)] >= 0) continue;
      level_[static_cast<size_t>(edge.to)] = level_[static_cast<size_t>(queue[i])] + 1;
      queue.push_back(edge.to);
    }
  return level_[static_cast<size_t>(sink)] >= 0;
}

// Pushes flow along one path of the level graph. The depth of the recursion is the length of a shortest path.
int64_t FlowNetwork::push(int node, int sink, int64_t limit) {
  if (node == sink) return limit;
  const auto n = static_cast<size_t>(node);
  for (size_t& i = next_[n]; i < heads_[n].size(); ++i) {
    const auto id = static_cast<size_t>(heads_[n][i]);
    const int to = edges_[id].to;
    if (edges_[id].capacity == 0 || level_[static_cast<size_t>(to)] != level_[n] + 1) continue;
    const int64_t flow = push(to, sink, std::min(limit, edges_[id].capacity));
    if (flow == 0) continue;
    edges_[id].capacity -= flow;
    edges_[id ^ 1].capacity += flow;
    return flow;
  }
  return 0;
}

std::vector<bool> FlowNetwork::source_side(int source, int sink) {
  while (find_levels(source, sink)) {
    next_.assign(heads_.size(), 0);
    while (push(source, sink, kUnlimited) > 0) {
    }
  }
  std::vector<bool> side(heads_.size());
  for (size_t i = 0; i < side.size(); ++i) side[i] = level_[i] >= 0;
  return side;
}

}  // namespace mtfc
