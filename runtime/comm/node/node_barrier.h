#pragma once
// Tells the ranks of a group that share memory how far the others are, by epochs: counters that only grow and
// that only their own rank writes.
//
//   arrive()    "my operand of the next collective is ready": counts the collectives that were started
//   meet()      "I am done with this phase": counts the phases of waits, and waits for all others to be done
//
// Starts come in the same order on every rank, and so do waits, so equal numbers mean the same to all; the
// two orders may differ, which is why there are two counters. A counter is published with release and read
// with acquire, so a rank that sees it also sees everything written before. If every rank has a core, a
// waiting rank spins for as long as a message between two cores may take; otherwise it gives its core away.
// In that case the others may be without a core too, so work that any rank can do should not wait for a
// particular one: do_together() gives it to whichever rank comes first.

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/processes/watchdog.h"

namespace mtfc {

/// The counters that a rank shows to the others of one group. `taken` and `done` count its parts of common
/// works that have been taken and done, by itself or by others. They are alone in their cache lines
/// (processors fetch lines in pairs). All-zero bytes are a valid start.
struct alignas(128) RankEpochs {
  std::atomic<uint64_t> arrived;
  std::atomic<uint64_t> finished;
  std::atomic<uint64_t> taken;
  std::atomic<uint64_t> done;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "counters are shared by processes");

/// Called now and then while a rank waits, so that messages move that the others may be waiting for.
using Idle = std::function<void()>;

class NodeBarrier {
 public:
  /// `members` by index, in memory that all of them see.
  NodeBarrier(std::vector<RankEpochs*> members, size_t self, const Waiting& waiting);

  size_t size() const { return members_.size(); }
  size_t self() const { return self_; }
  /// Returns whether ranks share cores.
  bool is_crowded() const { return waiting_.yields; }

  /// Publishes the start of a collective; returns its epoch.
  uint64_t arrive();
  /// Returns whether all members have arrived at `epoch`.
  bool have_arrived(uint64_t epoch) const;
  /// Waits until all members have arrived at `epoch`. This and the functions below throw WaitError
  /// (runtime/processes/watchdog.h).
  void await(uint64_t epoch, const Idle& idle) { wait(&RankEpochs::arrived, epoch, idle); }
  /// Publishes the end of a phase; returns its number.
  uint64_t finish();
  /// Waits until all members have finished phase `phase`.
  void await_finished(uint64_t phase, const Idle& idle) { wait(&RankEpochs::finished, phase, idle); }
  void meet(const Idle& idle) { await_finished(finish(), idle); }

  /// Does a common work with one part per member: calls `part(i)` once for each, on any member, and returns
  /// when all parts are done. All members call it, with the same works in the same order, and must have
  /// awaited what the parts need.
  void do_together(const std::function<void(size_t)>& part, const Idle& idle);

 private:
  bool takes(size_t member);
  void wait(std::atomic<uint64_t> RankEpochs::*counter, uint64_t least, const Idle& idle);

  std::vector<RankEpochs*> members_;
  size_t self_;
  Waiting waiting_;
  uint64_t arrived_ = 0, finished_ = 0;
  uint64_t works_ = 0;
};

}  // namespace mtfc
