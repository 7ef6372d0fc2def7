#include "runtime/node_barrier.h"

#include <sched.h>

#include "runtime/watchdog.h"

namespace mtfc {
namespace {

// Some tens of microseconds: longer than a rank needs that is under way, shorter than a time slice.
constexpr int kSpins = 1000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Until counters have reached what they are waited for, after `spins` looks at them without giving the core
// away.
class Wait {
 public:
  Wait(int spins, const Idle& idle) : spins_(spins), idle_(idle) {}

  void until(const std::atomic<uint64_t>& counter, uint64_t least) {
    while (counter.load(std::memory_order_acquire) < least) {
      if (spins_ > 0) {
        --spins_;
        relax();
        continue;
      }
      patience_.poll();
      idle_();
      sched_yield();
    }
  }

 private:
  int spins_;
  const Idle& idle_;
  Patience patience_;
};

}  // namespace

NodeBarrier::NodeBarrier(std::vector<RankEpochs*> members, CommonWork& work, size_t self, bool spin)
    : members_(std::move(members)), work_(work), self_(self), spins_(spin ? kSpins : 0) {}

uint64_t NodeBarrier::arrive() {
  members_[self_]->arrived.store(++arrived_, std::memory_order_release);
  return arrived_;
}

uint64_t NodeBarrier::finish() {
  members_[self_]->finished.store(++finished_, std::memory_order_release);
  return finished_;
}

void NodeBarrier::wait(std::atomic<uint64_t> RankEpochs::*counter, uint64_t least, const Idle& idle) {
  Wait waiting(spins_, idle);
  for (const RankEpochs* member : members_) waiting.until(member->*counter, least);
}

// Whoever comes here has seen the works before this one done, so that no part of them is left to take; who is
// late finds none of this one, and leaves.
void NodeBarrier::do_together(uint64_t parts, const std::function<void(uint64_t)>& part, const Idle& idle) {
  const uint64_t first = parts_;
  parts_ += parts;
  for (uint64_t next = work_.taken.load(std::memory_order_relaxed); next < parts_;) {
    if (!work_.taken.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) continue;
    part(next - first);
    work_.done.fetch_add(1, std::memory_order_release);
    next = work_.taken.load(std::memory_order_relaxed);
  }
  Wait(spins_, idle).until(work_.done, parts_);
}

}  // namespace mtfc
