#include "runtime/comm/node/node_barrier.h"

#include <sched.h>

#include <algorithm>
#include <bit>

namespace mtfc {
namespace {

// Some tens of microseconds: longer than a running rank needs to arrive, shorter than a time slice.
constexpr int kSpins = 1000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Waits for counters; looks `spins` times before it begins to give the core away.
class Wait {
 public:
  Wait(const Waiting& waiting, const Idle& idle)
      : spins_(waiting.yields ? 0 : kSpins), idle_(idle), patience_(waiting.watchdog) {}

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

NodeBarrier::NodeBarrier(std::vector<RankEpochs*> members, size_t self, const Waiting& waiting)
    : members_(std::move(members)), self_(self), waiting_(waiting) {}

uint64_t NodeBarrier::arrive() {
  members_[self_]->arrived.store(++arrived_, std::memory_order_release);
  return arrived_;
}

bool NodeBarrier::have_arrived(uint64_t epoch) const {
  return std::all_of(members_.begin(), members_.end(), [&](const RankEpochs* member) {
    return member->arrived.load(std::memory_order_acquire) >= epoch;
  });
}

uint64_t NodeBarrier::finish() {
  members_[self_]->finished.store(++finished_, std::memory_order_release);
  return finished_;
}

void NodeBarrier::wait(std::atomic<uint64_t> RankEpochs::*counter, uint64_t least, const Idle& idle) {
  Wait turn(waiting_, idle);
  for (const RankEpochs* member : members_) turn.until(member->*counter, least);
}

bool NodeBarrier::takes(size_t member) {
  uint64_t before = works_ - 1;
  return members_[member]->taken.compare_exchange_strong(before, works_, std::memory_order_relaxed);
}

// A member that comes here has seen all parts of the previous works done. It does its own part first. It then
// yields once to the ranks of its core, which do their own parts best because their caches hold the data, and
// takes the parts of members that are late, beginning with its neighbours.
void NodeBarrier::do_together(const std::function<void(size_t)>& part, const Idle& idle) {
  ++works_;
  for (size_t turn = 0; turn < std::bit_ceil(size()); ++turn) {
    const size_t member = self_ ^ turn;
    if (turn == 1) sched_yield();
    if (member >= size() || !takes(member)) continue;
    part(member);
    members_[member]->done.store(works_, std::memory_order_release);
  }
  wait(&RankEpochs::done, works_, idle);
}

}  // namespace mtfc
