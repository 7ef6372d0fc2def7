#pragma once
// The processes of a run: this one alone, or the ranks of MPI_COMM_WORLD. Owns MPI from its start to its end.
//
// It serves set-up, agreement and closing; tensors go through Comm. Every operation is called by all ranks in
// the same order, and none of them blocks inside MPI: if ranks outnumber cores, a blocked rank costs the
// others whole time slices, so waiting means testing and yielding.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"
#include "runtime/processes/host_cores.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {

/// An error that all ranks throw alike; its text names the rank that met it.
struct AgreedError : RunError {
  using RunError::RunError;
};

class Processes {
 public:
  /// Starts MPI. Throws RunError. The watchdog is told about the other ranks, and must outlive the result.
  static Processes start(Watchdog& watchdog);
  /// A single process without MPI; every operation is then trivial.
  static Processes alone();
  /// Ends MPI if it was started. Every rank must come here, or one must call abort(): a rank that fails alone
  /// must call it before it lets go of this object, or the others wait for it forever.
  ~Processes();
  Processes(Processes&&) noexcept;
  /// Ends MPI early, for ranks that have agreed to stop and will do so by throwing. All ranks must come here
  /// or to the destructor: the launcher kills all other ranks when one ends without having done so. They wait for
  /// each other as long as the watchdog allows. If MPI then does not end within some seconds, this ends the process
  /// with `code`, after what std::cout and stdio hold has been written. A `code` that stands for a signal ends the
  /// ranks at once, as soon as all are here.
  void finish(int code = 0);

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }  // true for the one rank that talks to the user
  bool uses_mpi() const { return state_ != nullptr; }
  int ranks_on_node() const { return ranks_on_node_; }
  /// The number of cores that the ranks of this node may use.
  int cores_on_node() const { return cores_.cores(); }
  /// By rank: the lowest rank of its node. Nodes are those of MPI, whose ranks share memory: a container for each rank
  /// of one machine may have a host name of its own.
  const std::vector<int>& nodes() const { return nodes_; }
  bool has_several_nodes() const { return several_nodes_; }
  /// True for the lowest rank of each node.
  bool leads_node() const { return nodes_[static_cast<size_t>(rank_)] == rank_; }
  bool oversubscribed() const { return ranks_on_node_ > cores_.hardware_threads(); }
  /// nullptr where there are no others to wait for.
  Watchdog* watchdog() { return watchdog_; }
  /// Returns the way in which this rank waits for others. There must be others.
  Waiting waiting() const;

  /// Keeps this process, and the threads that it starts later, on its share of the node's cores, if the launcher has
  /// left the choice open. If the same number of ranks share each core, ranks that are next to each other share one:
  /// left alone, the system would move ranks about, and the time of a step would depend on which of them happen to
  /// share a core. If the cores suffice for `threads` of every rank, and the node's memory has several parts, each near
  /// some cores (NUMA), a rank keeps to cores that are near each other. Otherwise this does nothing.
  void keep_to_share(int threads) const;

  void barrier();
  /// Replaces `bytes` by rank 0's on every rank.
  void broadcast(std::string& bytes);
  int64_t maximum(int64_t value);
  /// The maximum and the sum over the ranks, element by element and in place; the lengths must be equal
  /// everywhere.
  void maximum(std::span<int64_t> values);
  void sum(std::span<int64_t> values);
  /// Returns every rank's bytes, by rank, on rank 0; an empty vector elsewhere.
  std::vector<std::string> gather(const std::string& bytes);

  /// Throws RunError on every rank, naming the ranks that differ from rank 0, unless all pass the same bytes:
  /// `ranks 1, 3 have another program than rank 0`.
  void require_equal(std::string_view what, std::string_view bytes);
  /// Throws AgreedError on every rank if some rank passes a message: the first such rank's, with its number.
  void require_success(const std::string& message);

  /// Ends all ranks at once and does not return.
  [[noreturn]] void abort(int code);

 private:
  struct State;
  friend struct NodeCommunicator;
  Processes();
  void find_node();
  void find_neighbours();
  void connect_all();
  void all_reduce(std::span<int64_t> values, bool adds);
  void all_gather(const void* own, size_t bytes, void* all);
  std::vector<uint64_t> all_gather(uint64_t value);

  std::unique_ptr<State> state_;
  Watchdog* watchdog_ = nullptr;
  int rank_ = 0;
  int size_ = 1;
  int ranks_on_node_ = 1;
  HostCores cores_;
  int index_on_node_ = 0;
  std::vector<int> nodes_{0};
  bool several_nodes_ = false;
  bool bound_by_launcher_ = false;  // the ranks of the node may use different cores
};

/// The free bytes for memory shared between processes, in /dev/shm.
int64_t free_shared_memory();

}  // namespace mtfc
