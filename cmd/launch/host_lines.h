#pragma once
// Connections from the ranks of other hosts to the process that has started their launcher. The launcher waits without
// end for a host that has lost its power or its network; this process and the ranks notice it, from the first moment of
// the ranks on.
//
//   mtfc run ── mpiexec ── proxy ── ranks 2, 3 on host b
//       └────────── line ────────────┘

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "runtime/processes/tcp.h"
#include "runtime/processes/unique_fd.h"

namespace mtfc {

class HostLines {
 public:
  /// If ranks may be `elsewhere`, listens, and says so to them in the environment. Without a network, there will be no
  /// lines. Only ranks of this run keep a connection, by a token; a few others are waited for at a time until they show
  /// theirs.
  explicit HostLines(bool elsewhere);

  /// Becomes readable when look() has something to do.
  int queue() const { return queue_.get(); }
  void look();
  /// After the launcher has ended: waits until every rank has closed its line, or a host is known not to answer.
  void settle();
  /// A rank of a host that no longer answers; -1: none.
  int lost_rank() const { return lost_rank_; }
  /// When lost_rank() was noticed.
  std::chrono::steady_clock::time_point lost_at() const { return lost_at_; }

 private:
  struct Greeting {
    uint64_t token;
    int64_t rank;
  };
  struct Line {
    UniqueFd socket;
    int rank = -1;  // not known before the greeting
  };
  void accept_lines();
  void look_at(int file);
  void greet(int file);
  void watch(int file) const;

  friend void connect_to_supervisor();

  UniqueFd queue_, listener_;
  uint64_t token_;
  std::map<int, Line> lines_;   // by descriptor
  std::vector<int> strangers_;  // the descriptors of those without a rank, the oldest first
  int lost_rank_ = -1;
  std::chrono::steady_clock::time_point lost_at_;
};

/// For a rank of another host, the first one there: connects to the process that the environment names, if there is
/// one. When the connection ends, or if there is none and MPI does not begin, the ranks of this host will end too
/// (runtime/processes/job.h).
void connect_to_supervisor();

}  // namespace mtfc
