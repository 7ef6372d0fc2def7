#include "runtime/processes/watchdog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <thread>

namespace mtfc {

namespace {

// Within this time a rank that waits, rather than hangs, looks at the clock again.
constexpr std::chrono::milliseconds kBeat{300};
constexpr std::chrono::milliseconds kBetweenBeats{1};
// Asking each of more ranks takes longer than it helps.
constexpr size_t kMostAsked = 256;

}  // namespace

std::string rank_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  return text;
}

namespace {

std::string wait_text(int64_t seconds, const std::vector<MissingRank>& missing) {
  std::vector<int> ranks;
  for (const MissingRank& one : missing) ranks.push_back(one.rank);
  return fmt::format("waited {} s for {}", seconds, rank_text(ranks));
}

}  // namespace

WaitError::WaitError(int64_t seconds, std::vector<MissingRank> missing)
    : RunError(wait_text(seconds, missing)), seconds_(seconds), missing_(std::move(missing)) {}

Watchdog::Watchdog(int64_t limit) : limit_(limit) {}
Watchdog::~Watchdog() = default;

void Watchdog::set_ranks(int own_rank, std::vector<ProgressPage> pages) {
  rank_ = own_rank;
  pages_ = std::move(pages);
}

void Watchdog::pass(const Point& point) {
  PageMemory& page = own_.memory();
  page.entry.store(point.entry, std::memory_order_relaxed);
  page.step.store(point.step, std::memory_order_relaxed);
  page.train_step.store(point.train_step, std::memory_order_relaxed);
  page.count.store(page.count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Watchdog::beat_for(std::chrono::milliseconds time) const {
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    beat();
    std::this_thread::sleep_for(kBetweenBeats);
  } while (std::chrono::steady_clock::now() < end);
}

namespace {

// A rank other than this one, at two times.
struct Candidate {
  int rank = 0;
  std::optional<RankProgress> before, now;
  // It hangs, is stopped, or works.
  bool is_still() const {
    return before && now && before->count == now->count && before->beats == now->beats;
  }
  bool is_silent() const { return !now; }
  bool is_missing() const { return is_still() || is_silent(); }
  // Ranks that are known to be at a point come first, and of those the one that is furthest behind.
  auto order() const { return std::pair(is_silent(), now ? now->count : 0); }
};

using Candidates = std::vector<Candidate>;

// Returns the ranks that do not wait. If some of them are behind this rank, it returns only these, because this rank
// waits for them first.
std::vector<MissingRank> missing_among(const Candidates& candidates, uint64_t own_count) {
  Candidates missing, behind;
  for (const Candidate& one : candidates) {
    if (one.is_missing()) missing.push_back(one);
    if (one.is_still() && one.now->count < own_count) behind.push_back(one);
  }
  Candidates& named = behind.empty() ? missing : behind;
  std::stable_sort(named.begin(), named.end(),
                   [](const Candidate& a, const Candidate& b) { return a.order() < b.order(); });
  std::vector<MissingRank> found;
  for (const Candidate& one : named)
    found.push_back({one.rank, one.now.has_value(), one.now ? one.now->point : Point{}});
  return found;
}

// Returns the ranks that are furthest behind. This names somebody when all ranks wait.
std::vector<MissingRank> last_of(const Candidates& candidates) {
  uint64_t least = UINT64_MAX;
  for (const Candidate& one : candidates) least = std::min(least, one.now ? one.now->count : least);
  std::vector<MissingRank> found;
  for (const Candidate& one : candidates)
    if (one.now && one.now->count == least) found.push_back({one.rank, true, one.now->point});
  return found;
}

}  // namespace

void Watchdog::give_up(std::span<const int64_t> ranks) const {
  Candidates all;
  for (size_t rank = 0; rank < pages_.size(); ++rank)
    if (static_cast<int>(rank) != rank_) all.push_back({static_cast<int>(rank), {}, {}});
  for (Candidate& one : all) one.before = read_progress(pages_[static_cast<size_t>(one.rank)]);
  beat_for(kBeat);
  std::vector<int> unseen;
  for (Candidate& one : all) {
    one.now = read_progress(pages_[static_cast<size_t>(one.rank)]);
    if (!one.now && unseen.size() < kMostAsked) unseen.push_back(one.rank);
  }
  std::map<int, RankProgress> answers;
  if (inquiry_ && !unseen.empty()) answers = inquiry_->ask(unseen);
  for (Candidate& one : all)
    if (const auto answer = answers.find(one.rank); answer != answers.end()) one.now = answer->second;
  Candidates awaited;
  std::copy_if(all.begin(), all.end(), std::back_inserter(awaited), [&](const Candidate& one) {
    return ranks.empty() || std::find(ranks.begin(), ranks.end(), one.rank) != ranks.end();
  });
  std::vector<MissingRank> missing = missing_among(awaited, own_.progress().count);
  if (missing.empty()) missing = missing_among(all, own_.progress().count);
  if (missing.empty()) missing = last_of(awaited);
  throw WaitError(limit_, std::move(missing));
}

// A rank of which the others know nothing speaks for itself.
bool Watchdog::claim_last_word(std::chrono::milliseconds courtesy) const {
  const auto first =
      std::find_if(pages_.begin(), pages_.end(), [](const ProgressPage& page) { return page.process != 0; });
  if (first == pages_.end()) return true;
  const UniqueFd file = open_page(*first, O_RDWR);
  void* const memory =
      file ? mmap(nullptr, sizeof(PageMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0)
           : MAP_FAILED;
  if (memory == MAP_FAILED) return true;
  PageMemory& page = *static_cast<PageMemory*>(memory);
  const auto end = std::chrono::steady_clock::now() + courtesy;
  while (rank_ != 0 && page.speaker.load() == 0 && std::chrono::steady_clock::now() < end)
    beat_for(std::chrono::milliseconds(1));
  int64_t nobody = 0;
  const bool is_ours = page.token != first->token || page.speaker.compare_exchange_strong(nobody, rank_ + 1);
  munmap(memory, sizeof(PageMemory));
  return is_ours;
}

void Patience::look() {
  const auto now = std::chrono::steady_clock::now();
  if (start_ == std::chrono::steady_clock::time_point{}) start_ = now;
  watchdog_.beat();
  if (watchdog_.inquiry_) watchdog_.inquiry_->answer();
  if (now - start_ > std::chrono::seconds(watchdog_.limit())) watchdog_.give_up(ranks_);
}

}  // namespace mtfc
