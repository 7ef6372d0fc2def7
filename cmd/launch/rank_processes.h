#pragma once
// The ranks on this node, found among the launcher's grandchildren: signals for them, and the order in which they
// end. The launcher can't tell which rank was killed first, because it then kills the others in the same way. The
// kernel's queue of ended processes can, however late it is read.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/processes/unique_fd.h"

namespace mtfc {

class RankProcesses {
 public:
  RankProcesses(pid_t launcher, int64_t ranks);

  /// Becomes readable when a rank, or a process that the launcher has started, has ended.
  int queue() const { return queue_.get(); }
  /// The ranks that have ended, first to last.
  const std::vector<int>& ended() const { return ended_; }
  /// The host to which the launcher has lost its connection, by its place in the launcher's list; -1: none. A launcher
  /// that would wait for it without end has been killed.
  int lost_host() const { return failed_shell_; }
  /// Returns whether ranks of this host have ended, but only after that connection was lost.
  bool lost_host_first() const { return failed_first_ && !ended_.empty(); }
  /// True while look() is to be called often: ranks are starting, or are to end.
  bool is_busy() const;

  /// Looks for ranks that have started or ended, and does for them what is due.
  void look();
  /// Passes `signal` on to every rank, once the rank is ready for it: a rank that has only just started would be
  /// killed. Where ranks are elsewhere, the launcher passes it on.
  void send(int signal);
  /// Kills the launcher, and all that it has started on this host.
  void kill_all();
  /// Kills the ranks that are left.
  void kill_ranks() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Rank {
    UniqueFd file;
    pid_t pid = 0;
    size_t sent = 0;  // of the signals
    bool has_ended = false;
  };
  bool is_complete() const { return static_cast<int64_t>(found_.size()) >= ranks_; }
  void find();
  void watch(pid_t pid, int rank);
  void note_ended();
  void pass_signals();
  void end_stopped();
  void look_at_shells();
  void add_to_queue(const UniqueFd& file, uint32_t number) const;

  // A child of the launcher: its proxy on this host, or the remote shell that has started one.
  struct Shell {
    UniqueFd file;
    pid_t pid = 0;
  };
  void watch_shell(pid_t pid);

  pid_t launcher_;
  int64_t ranks_;
  UniqueFd queue_;
  std::map<int, Rank> found_;  // by rank
  std::vector<Shell> shells_;  // in the order of hosts
  int failed_shell_ = -1;
  bool failed_first_ = false;  // at a time when no rank of this host had ended
  bool has_killed_ = false;
  Clock::time_point shell_failed_;
  std::vector<int> ended_;
  std::vector<int> signals_;
  size_t sent_by_launcher_ = 0;
  Clock::time_point start_ = Clock::now(), last_signal_, first_stop_, still_since_;
};

}  // namespace mtfc
