#pragma once
// The minimum cut of a directed graph (Dinic's algorithm): the cheapest edges that separate a source from a
// sink.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mtfc {

class FlowNetwork {
 public:
  static constexpr int64_t kUnlimited = INT64_MAX / 4;

  explicit FlowNetwork(int nodes) : heads_(static_cast<std::size_t>(nodes)) {}
  void add_edge(int from, int to, int64_t capacity);

  /// For every node, true if it lies on the source's side of the minimum cut nearest to the source.
  std::vector<bool> source_side(int source, int sink);

 private:
  struct Edge {
    int to;
    int64_t capacity;
  };
  bool find_levels(int source, int sink);
  int64_t push(int node, int sink, int64_t limit);

  std::vector<Edge> edges_;              // edge i and its reverse i^1
  std::vector<std::vector<int>> heads_;  // edges out of each node
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

}  // namespace mtfc
