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

namespace mtfc {

/// What a rank tells the others of one group. Alone in its cache lines (of which processors fetch pairs).
/// All-zero bytes are a valid start.
struct alignas(128) RankEpochs {
  std::atomic<uint64_t> arrived;
  std::atomic<uint64_t> finished;
};

/// Parts of a group's common work, counted from the first on. All-zero bytes are a valid start.
struct alignas(128) CommonWork {
  std::atomic<uint64_t> taken;
  std::atomic<uint64_t> done;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "counters are shared by processes");

/// Called now and then while a rank waits for others, so that messages move that those may be waiting for.
using Idle = std::function<void()>;

class NodeBarrier {
 public:
  /// `members` by index, and `work`, in memory that all of them see. `spin`: every rank has a core of its
  /// own.
  NodeBarrier(std::vector<RankEpochs*> members, CommonWork& work, size_t self, bool spin);

  size_t size() const { return members_.size(); }
  size_t self() const { return self_; }
  /// Whether ranks share cores.
  bool is_crowded() const { return spins_ == 0; }

  /// Publishes the start of a collective; returns its epoch.
  uint64_t arrive();
  /// Until all members have arrived at `epoch`. This and the next throw WaitError (runtime/watchdog.h).
  void await(uint64_t epoch, const Idle& idle) { wait(&RankEpochs::arrived, epoch, idle); }
  /// Publishes the end of a phase; returns its number.
  uint64_t finish();
  /// Until all members have finished phase `phase`.
  void await_finished(uint64_t phase, const Idle& idle) { wait(&RankEpochs::finished, phase, idle); }
  void meet(const Idle& idle) { await_finished(finish(), idle); }

  /// Does `part` for each of 0 to parts-1, each on one of the members, and waits for all to be done. All call
  /// it with the same work, in the same order of works; each must have awaited what the parts need.
  void do_together(uint64_t parts, const std::function<void(uint64_t)>& part, const Idle& idle);

 private:
  void wait(std::atomic<uint64_t> RankEpochs::*counter, uint64_t least, const Idle& idle);

  std::vector<RankEpochs*> members_;
  CommonWork& work_;
  size_t self_;
  int spins_;
  uint64_t arrived_ = 0, finished_ = 0;
  uint64_t parts_ = 0;  // of all common work so far
};

}  // namespace mtfc
