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

}  // namespace

NodeBarrier::NodeBarrier(std::vector<RankEpochs*> members, size_t self, bool spin)
    : members_(std::move(members)), self_(self), spins_(spin ? kSpins : 0) {}

uint64_t NodeBarrier::arrive() {
  members_[self_]->arrived.store(++arrived_, std::memory_order_release);
  return arrived_;
}

uint64_t NodeBarrier::finish() {
  members_[self_]->finished.store(++finished_, std::memory_order_release);
  return finished_;
}

void NodeBarrier::wait(std::atomic<uint64_t> RankEpochs::*counter, uint64_t least, const Idle& idle) {
  int tries = 0;
  Patience patience;
  for (const RankEpochs* member : members_)
    while ((member->*counter).load(std::memory_order_acquire) < least) {
      if (tries++ < spins_) {
        relax();
        continue;
      }
      patience.poll();
      idle();
      sched_yield();
    }
}

}  // namespace mtfc
