#pragma once
// The node of a rank: which ranks share memory, and the memory that they share.
//
//   window of node-local rank 0          rank 1 ...
//   [ group pages | arena ]              [ group pages | arena ]
//
// Every rank of a node maps the windows of all, so a neighbour's buffer is the start of its arena plus an
// offset that is equal on all ranks. Windows are made once and reused, because making one blocks inside MPI.
// Memory is claimed completely before it is used: an oversized window would be granted, and then the rank
// that first touches a page too many would be killed. If there is too little memory on any node, all ranks
// get memory of their own, and collectives become messages.
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
  /// Pretends that each group of this many consecutive ranks is a node; 0: use the real nodes. For tests.
  int ranks_per_node = 0;
  /// The maximum that the ranks of a node may share, in bytes; 0: nothing.
  int64_t shared_bytes = std::numeric_limits<int64_t>::max();
  /// Called once, on rank 0, with the reason why memory is not shared.
  std::function<void(const std::string&)> warn;
};

class NodeMemory {
 public:
  explicit NodeMemory(Processes& processes, NodeOptions options = {});
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  /// The lowest rank of the node that `rank` is on.
  int of(int64_t rank) const { return nodes_[static_cast<size_t>(rank)]; }
  /// The same of all ranks.
  const std::vector<int>& nodes() const { return nodes_; }

  /// Memory of `bytes` for this rank, shared if possible; every rank asks for the same size. This object must
  /// outlive it. Throws RunError if the machine has too little memory.
  Arena arena(int64_t bytes);
  /// The starts, by rank on this node, of the arenas that were made together with `arena`; empty if they are
  /// not shared.
  std::vector<std::byte*> starts_of(const Arena& arena) const;
  /// The position of `rank`, which must be on this node, among the node's ranks.
  size_t position(int64_t rank) const;

  /// The group of those of `ranks` that are on this node, this rank among them. `name` is the same on all
  /// ranks and identifies one way of grouping them. Returns nullptr if nothing is shared, or there are too
  /// many groups.
  NodeGroup* group(const std::string& name, const std::vector<int64_t>& ranks);

 private:
  struct Window;
  void find_neighbours();
  void split_node();
  Window* claim(int64_t bytes);
  bool may_share(int64_t bytes);
  Window& make_window(int64_t bytes);

  struct Messages;  // MPI's part of the state
  Processes& processes_;
  NodeOptions options_;
  std::unique_ptr<Messages> mpi_;
  std::vector<int> nodes_;       // by rank
  std::vector<int> neighbours_;  // ranks of this node including this one, ascending
  bool shares_ = false;          // true if some node has several ranks
  std::vector<std::unique_ptr<Window>> windows_;
  std::map<std::string, std::unique_ptr<NodeGroup>> groups_;  // nullptr if no page was left
  int pages_used_ = 0;
};

}  // namespace mtfc
