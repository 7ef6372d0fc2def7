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

constexpr std::chrono::milliseconds kBetweenBeats{50};
// Within this time a rank that waits beats again, even on a busy machine.
constexpr std::chrono::milliseconds kBeat{600};
// A node whose ranks all wait lets the others speak first.
constexpr std::chrono::milliseconds kElsewhere{2000};

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

}  // namespace

BlockingCall::BlockingCall(Watchdog& watchdog, const char* call)
    : watchdog_(watchdog), call_(call), thread_([this] { watch(); }) {}

BlockingCall::~BlockingCall() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void BlockingCall::watch() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(watchdog_.limit());
  std::unique_lock lock(mutex_);
  while (std::chrono::steady_clock::now() < end) {
    watchdog_.beat();
    if (changed_.wait_for(lock, kBetweenBeats, [this] { return ended_; })) return;
  }
  give_up();
}

// Looks at the ranks as the launcher has started them, because they may not have told each other where they are.
void BlockingCall::give_up() const {
  std::vector<JobNeighbour> neighbours = job_neighbours();
  const std::vector<ProgressPage> pages = pages_of(neighbours);
  std::vector<std::optional<RankProgress>> before;
  for (const ProgressPage& page : pages) before.push_back(read_progress(page));
  watchdog_.beat_for(kBeat);
  const int own = rank_in_job();
  std::string missing;
  for (const JobNeighbour& one : neighbours) {
    if (one.rank < 0 || one.rank == own) continue;
    const auto at = static_cast<size_t>(one.rank);
    const std::optional<RankProgress> now = read_progress(pages[at]);
    if (!one.is_stopped && before[at] && now && before[at]->beats != now->beats) continue;
    missing += (missing.empty() ? "" : ", ") + missing_text(one);
  }
  if (missing.empty()) {
    watchdog_.beat_for(kElsewhere);
    missing = "ranks on other hosts";
  }
  watchdog_.set_ranks(own, pages);
  if (watchdog_.claim_last_word())
    std::cerr << fmt::format(
                     "mtfc: error: rank {}: waited {} s in {} for {} (--watchdog sets how long to wait)\n",
                     own, watchdog_.limit(), call_, missing)
              << std::flush;
  else
    watchdog_.beat_for(kElsewhere);
  end_job(kExitRunFailed);
}

}  // namespace mtfc
