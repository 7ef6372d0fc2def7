#pragma once
// How the ranks of a group that share memory know how far the others are: by epochs, counters that only grow
// and that only their own rank writes.
//
//   arrive()    "my operand of the next collective is ready": counts the collectives that were started
//   meet()      "I am done with this phase": counts the phases of waits, and waits for all others to be done
//
// Starts come in the same order on every rank, and so do waits, so equal numbers mean the same thing to all;
// the two orders may differ, hence two counters. A counter is published with release and read with acquire:
// who sees it sees all that was written before. Waiting spins for as long as a message between two cores may
// take where every rank has a core, and gives the core away otherwise. Then the others may be without a core
// too, and what anybody can do had better not wait for them: do_together() gives work to whoever comes first.

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/processes/watchdog.h"

namespace mtfc {

/// What a rank tells the others of one group, and how many of its parts of common works have been taken and
/// done, by itself or others. Alone in its cache lines (of which processors fetch pairs). All-zero bytes are
/// a valid start.
struct alignas(128) RankEpochs {
  std::atomic<uint64_t> arrived;
  std::atomic<uint64_t> finished;
  std::atomic<uint64_t> taken;
  std::atomic<uint64_t> done;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "counters are shared by processes");

/// Called now and then while a rank waits for others, so that messages move that those may be waiting for.
using Idle = std::function<void()>;

class NodeBarrier {
 public:
  /// `members` by index, in memory that all of them see.
  NodeBarrier(std::vector<RankEpochs*> members, size_t self, const Waiting& waiting);

  size_t size() const { return members_.size(); }
  size_t self() const { return self_; }
  /// Whether ranks share cores.
  bool is_crowded() const { return waiting_.yields; }

  /// Publishes the start of a collective; returns its epoch.
  uint64_t arrive();
  /// Until all members have arrived at `epoch`. This and the next throw WaitError.
  void await(uint64_t epoch, const Idle& idle) { wait(&RankEpochs::arrived, epoch, idle); }
  /// Publishes the end of a phase; returns its number.
  uint64_t finish();
  /// Until all members have finished phase `phase`.
  void await_finished(uint64_t phase, const Idle& idle) { wait(&RankEpochs::finished, phase, idle); }
  void meet(const Idle& idle) { await_finished(finish(), idle); }

  /// Does a common work of a part for each member, `part(i)` once, on any of them, and waits for all parts to
  /// be done. All members call it, with the same works in the same order, and must have awaited before what
  /// the parts need.
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
