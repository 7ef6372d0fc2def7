#include "runtime/processes/blocking_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "runtime/processes/job.h"

namespace mtfc {
namespace {

constexpr std::chrono::milliseconds kBetweenBlockedBeats{50};
// Within this time a rank that waits beats again, even on a busy machine.
constexpr std::chrono::milliseconds kBlockedBeat{600};
// A node whose ranks all wait lets the others speak first.
constexpr std::chrono::milliseconds kElsewhere{2000};
// The rank that says why all ranks end goes last, so that no other one finds it missing. It waits no longer than this.
constexpr std::chrono::seconds kGoesLast{10};
// After this time, ranks that are all in the same call will not come out of it.
using Milliseconds = std::chrono::milliseconds;
constexpr Milliseconds kStuck{40'000}, kStuckPerRank{500};
constexpr int kMostLimits = 10;  // of the watchdog
// A launcher that is deaf for so long remains deaf.
constexpr std::chrono::seconds kDeaf{2};

// The pages by rank, as far as ranks are on this node.
std::vector<ProgressPage> pages_of(const std::vector<JobNeighbour>& neighbours) {
  std::vector<ProgressPage> pages;
  for (const JobNeighbour& one : neighbours) {
    if (one.rank < 0) continue;
    pages.resize(std::max(pages.size(), static_cast<size_t>(one.rank) + 1));
    pages[static_cast<size_t>(one.rank)] = page_of(one.process);
  }
  return pages;
}

// `1 (process 4711 is stopped)`
std::string missing_text(const JobNeighbour& one) {
  return fmt::format("rank {} (process {}{})", one.rank, one.process, one.is_stopped ? " is stopped" : "");
}

// Returns whether another rank of this node has not ended yet.
bool has_company(int own_rank) {
  const std::vector<JobNeighbour> neighbours = job_neighbours();
  return std::any_of(neighbours.begin(), neighbours.end(),
                     [&](const JobNeighbour& one) { return one.rank >= 0 && one.rank != own_rank; });
}

}  // namespace

BlockingCall::BlockingCall(Watchdog& watchdog, const char* call)
    : watchdog_(watchdog), call_(call), thread_([this] { watch(); }) {}

BlockingCall::~BlockingCall() {
  ended_ = true;
  { const std::lock_guard lock(mutex_); }  // the thread waits for the change, or will see it
  changed_.notify_one();
  thread_.join();
}

void BlockingCall::watch() {
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::seconds limit(watchdog_.limit());
  const Milliseconds stuck =
      std::min<Milliseconds>(kMostLimits * limit, kStuck + ranks_in_job() * kStuckPerRank);
  const Milliseconds between = std::min<Milliseconds>(limit, stuck);
  auto next = start + between;
  auto heard = start;  // the launcher, the last time
  std::unique_lock lock(mutex_);
  for (;;) {
    watchdog_.beat();
    if (changed_.wait_for(lock, kBetweenBlockedBeats, [this] { return ended_.load(); })) return;
    const auto now = std::chrono::steady_clock::now();
    if (!launcher_is_deaf()) heard = now;
    if (now - heard >= kDeaf)
      give_up(
          {pages_of(job_neighbours()), "", true},
          fmt::format("{} does not end: the launcher no longer answers, as after a signal that comes while "
                      "ranks start",
                      call_));
    if (now < next) continue;
    next = now + between;
    // On a busy machine MPI takes its time; nobody is missing as long as all ranks are here and wait. But if that
    // lasts, the launcher does not answer them. Ranks that have come out of the call no longer wait, but then this one
    // will come out too.
    const auto is_hopeless = [&](const Seen& seen) {
      return now - start >= (seen.missing.empty() && seen.are_all ? stuck : limit);
    };
    if (is_hopeless(look()))
      if (const Seen seen = look(); is_hopeless(seen) && !ended_) give_up(seen, reason(seen));
  }
}

// Looks at the ranks as the launcher has started them, because they may not have told each other where they are.
BlockingCall::Seen BlockingCall::look() const {
  const std::vector<JobNeighbour> neighbours = job_neighbours();
  Seen seen{pages_of(neighbours), "", ranks_in_job() == static_cast<int64_t>(neighbours.size())};
  std::vector<std::optional<RankProgress>> before;
  for (const ProgressPage& page : seen.pages) before.push_back(read_progress(page));
  watchdog_.beat_for(kBlockedBeat);
  for (const JobNeighbour& one : neighbours) {
    if (one.rank < 0 || one.rank == rank_in_job()) continue;
    const auto at = static_cast<size_t>(one.rank);
    const std::optional<RankProgress> now = read_progress(seen.pages[at]);
    if (!one.is_stopped && before[at] && now && before[at]->beats != now->beats) continue;
    seen.missing += (seen.missing.empty() ? "" : ", ") + missing_text(one);
  }
  return seen;
}

std::string BlockingCall::reason(const Seen& seen) const {
  return seen.missing.empty() && seen.are_all
             ? fmt::format("{} does not end, though all ranks are here: the launcher does not answer them",
                           call_)
             : fmt::format("waited {} s in {} for {} (--watchdog sets how long to wait)", watchdog_.limit(),
                           call_, seen.missing.empty() ? "ranks on other hosts" : seen.missing);
}

void BlockingCall::give_up(const Seen& seen, const std::string& why) const {
  const int own = rank_in_job();
  if (seen.missing.empty() && !seen.are_all) watchdog_.beat_for(kElsewhere);
  watchdog_.set_ranks(own, seen.pages);
  if (watchdog_.claim_last_word()) {
    std::cerr << fmt::format("mtfc: error: rank {}: {}\n", own, why) << std::flush;
    const auto end = std::chrono::steady_clock::now() + kGoesLast;
    while (seen.missing.empty() && seen.are_all && has_company(own) && std::chrono::steady_clock::now() < end)
      watchdog_.beat_for(kBetweenBlockedBeats);
  } else {
    watchdog_.beat_for(kElsewhere);
  }
  end_job(kExitRunFailed);
}

}  // namespace mtfc
