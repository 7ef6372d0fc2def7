#pragma once
// The node that a rank sits on: which ranks share memory, and the memory that they share.
//
//   window of node-local rank 0          rank 1 ...
//   [ group pages | arena ]              [ group pages | arena ]
//
// Every rank of a node maps the windows of all, so that a neighbour's buffer is its arena's start plus the
// offset that is equal on all ranks. Windows are made once and used again, because making one blocks inside
// MPI. Before memory is used, the whole of it is claimed: an oversized window is granted and then kills the
// rank that first touches the page too many. Where there is too little, on any node, all ranks get memory of
// their own, and collectives are messages.
//
// All operations are called by all ranks in the same order.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/node/node_group.h"
#include "runtime/memory/arena.h"
#include "runtime/processes/processes.h"

namespace mtfc {

struct NodeOptions {
  /// Pretends that so many consecutive ranks share a node, and others do not; 0: as it is. For tests.
  int ranks_per_node = 0;
  /// The most that the ranks of a node may share, in bytes; 0: nothing.
  int64_t shared_bytes = std::numeric_limits<int64_t>::max();
  /// Told, on rank 0 and once, why memory is not shared.
  std::function<void(const std::string&)> warn;
};

class NodeMemory {
 public:
  explicit NodeMemory(Processes& processes, NodeOptions options = {});
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  /// The lowest rank of the node that `rank` sits on.
  int of(int64_t rank) const { return nodes_[static_cast<size_t>(rank)]; }

  /// `bytes` for this rank, shared where that is possible; every rank asks for the same. The node must
  /// outlive it. Throws RunError where the machine has too little memory.
  Arena arena(int64_t bytes);
  /// The starts, by rank on this node, of the arenas that were made together with `arena`; empty where those
  /// are not shared.
  std::vector<std::byte*> starts_of(const Arena& arena) const;
  /// The position of `rank`, of this node, among the ranks of this node.
  size_t position(int64_t rank) const;

  /// The group of those of `ranks` that sit on this node, this rank among them. `name` is the same on all
  /// ranks and belongs to one way of grouping them. nullptr where nothing is shared, or too many groups are.
  NodeGroup* group(const std::string& name, const std::vector<int64_t>& ranks);

 private:
  struct Window;
  void find_neighbours();
  Window* claim(int64_t bytes);
  bool may_share(int64_t bytes);
  Window& make_window(int64_t bytes);

  struct Messages;  // what is MPI's
  Processes& processes_;
  NodeOptions options_;
  std::unique_ptr<Messages> mpi_;
  std::vector<int> nodes_;       // by rank
  std::vector<int> neighbours_;  // ranks of this node, ascending, this one among them
  bool shares_ = false;          // some node has several ranks
  std::vector<std::unique_ptr<Window>> windows_;
  std::map<std::string, std::unique_ptr<NodeGroup>> groups_;  // nullptr: there was no page left
  int pages_used_ = 0;
};

/// Bytes that are free for memory shared by processes.
int64_t free_shared_memory();

}  // namespace mtfc
