#pragma once
// The processes of a run: this one alone, or the ranks of MPI_COMM_WORLD. Owns MPI from its start to its end.
//
// What set-up, agreement and closing need; tensors go through Comm. Every operation is called by all ranks in
// the same order, and none of them blocks inside MPI: where ranks outnumber cores, a blocked rank costs the
// others whole time slices, so waiting is testing and yielding.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {

/// What all ranks throw alike; it names the rank that met it.
struct AgreedError : RunError {
  using RunError::RunError;
};

class Processes {
 public:
  /// Starts MPI. Throws RunError.
  static Processes start();
  /// A single process, without MPI: every operation is then trivial.
  static Processes alone();
  /// Ends MPI where it was started. Every rank must come here, or one call abort(): a rank that fails alone
  /// must do so before it lets go of this object, or the others wait for it for ever.
  ~Processes();
  Processes(Processes&&) noexcept;
  /// Ends MPI before its time, for ranks that have agreed to stop and will do so by throwing. All ranks must
  /// come here or to the destructor: the launcher kills every other rank when one ends without having done so.
  void finish();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool speaks() const { return rank_ == 0; }  // the one rank that talks to the user
  bool uses_mpi() const { return state_ != nullptr; }
  int ranks_on_node() const { return ranks_on_node_; }
  int cores_on_node() const { return cores_; }  // that this process may use
  bool oversubscribed() const { return ranks_on_node_ > cores_; }

  /// Where several ranks share each core, the same number on all, and the launcher has left it open which:
  /// stays on one core with its neighbours in rank from now on, as do threads that start later. The system
  /// would move ranks about, and what a step takes would depend on which of them came to share a core.
  void bind_to_core() const;

  void barrier();
  /// Rank 0's bytes, on every rank.
  void broadcast(std::string& bytes);
  int64_t maximum(int64_t value);
  /// Element by element over the ranks, in place; equal lengths everywhere.
  void maximum(std::span<int64_t> values);
  void sum(std::span<int64_t> values);
  /// Every rank's bytes, by rank, on rank 0; empty elsewhere.
  std::vector<std::string> gather(const std::string& bytes);

  /// Throws RunError on every rank, naming those that differ from rank 0, unless all give the same bytes:
  /// `ranks 1, 3 have another program than rank 0`.
  void require_equal(std::string_view what, std::string_view bytes);
  /// Throws AgreedError on every rank where some rank gives a message: the first one's, with its rank.
  void require_success(const std::string& message);

  /// Ends all ranks at once. Does not return.
  [[noreturn]] void abort(int code);

 private:
  struct State;
  Processes();
  void find_neighbours();
  void all_gather(const void* own, size_t bytes, void* all);
  std::vector<uint64_t> all_gather(uint64_t value);

  std::unique_ptr<State> state_;
  int rank_ = 0;
  int size_ = 1;
  int ranks_on_node_ = 1;
  int cores_ = 1;
  int index_on_node_ = 0;
  bool bound_by_launcher_ = false;  // the ranks of the node may use different cores
};

}  // namespace mtfc
