#include "runtime/compute/team.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runtime/compute/threads.h"

namespace mtfc {
namespace {

// A thread looks for work so many times before it sleeps. That takes some 100 us, which is longer than a step of a
// token, and shorter than what another program on the machine would notice.
constexpr int kLooks = 4096;
// After so many looks at the other members, the leader lets another program run, which may be the one that keeps a
// member from its core.
constexpr int kLooksAtDone = 65536;
constexpr size_t kFetch = 1024, kLine = 64;  // bytes
constexpr int64_t kUsualCache = int64_t{1} << 20;

struct Place {
  Team* led = nullptr;
  int member = 0;
  bool is_running = false;
};
thread_local Place place;

void rest() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The share that a member fetches should fit into its second-level cache, with room for what it works on.
int64_t share_to_fetch() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return (bytes > 0 ? bytes : kUsualCache) / 4 * 3;
}

}  // namespace

struct Team::Worker {
  std::thread thread;
  int member = 0;
  uint32_t ahead = 0;  // the number of what it fetches
  // The rest of the shares to fetch: its own, and then its part of the leader's.
  std::span<const std::byte> own = {}, leaders = {};
};

std::unique_ptr<Team> Team::of_own_threads() {
  if (threads() < 2 || omp_get_proc_bind() != omp_proc_bind_false) return nullptr;
  return std::make_unique<Team>(threads());
}

Team::Team(int threads)
    : size_(std::max(1, threads)),
      most_ahead_(share_to_fetch()),
      workers_(new Worker[static_cast<size_t>(size_)]) {
  for (int member = 1; member < size_; ++member) {
    Worker& worker = workers_[static_cast<size_t>(member)];
    worker.member = member;
    worker.thread = std::thread([this, &worker] { work_for(worker); });
  }
}

Team::~Team() {
  task_.stops.store(true, std::memory_order_relaxed);
  task_.number.fetch_add(1, std::memory_order_release);
  task_.number.notify_all();
  for (int member = 1; member < size_; ++member) workers_[static_cast<size_t>(member)].thread.join();
}

Team::Lead::Lead(Team* team) : before_(place.led), threads_(omp_get_max_threads()) {
  if (!team) return;
  place.led = team;
  omp_set_num_threads(1);
}

Team::Lead::~Lead() {
  place.led = before_;
  omp_set_num_threads(threads_);
}

Team* Team::led() {
  return place.led;
}

int Team::member() {
  return place.member;
}

bool Team::is_running() {
  return place.is_running;
}

void Team::run(int64_t parts, void (*work)(void*, int64_t), void* context) {
  task_.parts = parts;
  task_.work = work;
  task_.context = context;
  done_.members.store(0, std::memory_order_relaxed);
  task_.number.fetch_add(1, std::memory_order_release);
  task_.number.notify_all();
  place.is_running = true;
  work(context, 0);
  place.is_running = false;
  // All members, so that none still reads this task when the next one is written.
  const auto others = static_cast<uint32_t>(size_ - 1);
  for (int looks = 0; done_.members.load(std::memory_order_acquire) < others; ++looks)
    looks < kLooksAtDone ? rest() : std::this_thread::yield();
}

void Team::work_for(Worker& worker) {
  flush_denormals();
  omp_set_num_threads(1);
  place = {nullptr, worker.member, true};
  for (uint32_t seen = 0;; ++seen) {
    for (int looks = 0; task_.number.load(std::memory_order_acquire) == seen;) {
      if (fetch_some(worker)) continue;
      if (++looks < kLooks)
        rest();
      else
        task_.number.wait(seen, std::memory_order_acquire);
    }
    if (task_.stops.load(std::memory_order_relaxed)) return;
    if (worker.member < task_.parts) task_.work(task_.context, worker.member);
    done_.members.fetch_add(1, std::memory_order_release);
  }
}

// Returns false if there is nothing to fetch.
bool Team::fetch_some(Worker& worker) const {
  const uint32_t number = ahead_.number.load(std::memory_order_acquire);
  if (worker.ahead != number) {
    // If the leader names something else meanwhile, these do not belong together: then addresses without memory may be
    // asked for, which does nothing, and the next call corrects it.
    const std::byte* const at = ahead_.at.load(std::memory_order_relaxed);
    const int64_t share = ahead_.bytes.load(std::memory_order_relaxed) / size_,
                  most = std::min(share, most_ahead_);
    const int64_t part = most / (size_ - 1);
    worker.ahead = number;
    worker.own = {at + worker.member * share, static_cast<size_t>(most)};
    worker.leaders = {at + (worker.member - 1) * part, static_cast<size_t>(part)};
  }
  std::span<const std::byte>& from = worker.own.empty() ? worker.leaders : worker.own;
  if (from.empty()) return false;
  const size_t count = std::min(from.size(), kFetch);
  for (size_t i = 0; i < count; i += kLine) __builtin_prefetch(from.data() + i, 0, 2);
  from = from.subspan(count);
  return true;
}

void Team::read_ahead(std::span<const std::byte> next) {
  if (next.data() == ahead_.at.load(std::memory_order_relaxed)) return;
  ahead_.at.store(next.data(), std::memory_order_relaxed);
  ahead_.bytes.store(static_cast<int64_t>(next.size()), std::memory_order_relaxed);
  ahead_.number.fetch_add(1, std::memory_order_release);
}

}  // namespace mtfc
