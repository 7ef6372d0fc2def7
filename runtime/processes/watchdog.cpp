#include "runtime/processes/watchdog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

namespace mtfc {

// The memory that others may read. One thread writes it; a reader that sees a count and the place before it names a
// step too early, and no wrong rank.
struct Watchdog::Page {
  uint64_t token;
  std::atomic<uint64_t> count;  // of points passed
  std::atomic<uint64_t> beats;  // of looks at the clock while waiting
  std::atomic<int64_t> entry, step, train_step;
  std::atomic<int64_t> speaker;  // of the node, in its first rank's page: 1 + the rank; 0: none yet
};

namespace {

// Within this time a rank that waits, rather than hangs, looks at the clock again.
constexpr std::chrono::milliseconds kBeat{300};

struct Progress {
  uint64_t count = 0, beats = 0;
  Point point;
};

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

// Without a page that others can read, they know less of this rank; it runs all the same.
Watchdog::Watchdog(int64_t limit) : limit_(limit), file_(memfd_create("mtfc-progress", MFD_CLOEXEC)) {
  const bool shared = file_ && ftruncate(file_.get(), sizeof(Page)) == 0;
  void* const memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE,
                            shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, shared ? file_.get() : -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  page_ = new (memory) Page{};
  if (!shared) return;
  std::random_device random;
  page_->token = (uint64_t{random()} << 32) | random();
  own_ = {getpid(), file_.get(), page_->token};
}

Watchdog::~Watchdog() {
  munmap(page_, sizeof(Page));
}

void Watchdog::set_ranks(int own_rank, std::vector<ProgressPage> pages) {
  rank_ = own_rank;
  pages_ = std::move(pages);
}

void Watchdog::pass(const Point& point) {
  page_->entry.store(point.entry, std::memory_order_relaxed);
  page_->step.store(point.step, std::memory_order_relaxed);
  page_->train_step.store(point.train_step, std::memory_order_relaxed);
  page_->count.store(page_->count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Watchdog::beat() const {
  page_->beats.fetch_add(1, std::memory_order_relaxed);
}

namespace {

// The page as it lies in memory, without atomics.
struct Image {
  uint64_t token, count, beats;
  int64_t entry, step, train_step, speaker;
};

UniqueFd open_page(const ProgressPage& page, int flags) {
  if (page.process == 0) return UniqueFd();
  return UniqueFd(open(fmt::format("/proc/{}/fd/{}", page.process, page.file).c_str(), flags | O_CLOEXEC));
}

std::optional<Progress> read_progress(const ProgressPage& page) {
  const UniqueFd file = open_page(page, O_RDONLY);
  if (!file) return std::nullopt;
  Image image{};
  const ssize_t read = pread(file.get(), &image, sizeof image, 0);
  if (read != static_cast<ssize_t>(sizeof image) || image.token != page.token) return std::nullopt;
  return Progress{image.count, image.beats, {static_cast<int>(image.entry), image.step, image.train_step}};
}

// A rank other than this one, at two times.
struct Candidate {
  int rank = 0;
  std::optional<Progress> before, now;
  bool behind(uint64_t count) const { return now && now->count < count; }
  bool still() const { return before && now && before->count == now->count && before->beats == now->beats; }
  bool unknown() const { return !now; }
};

template <typename Condition>
std::vector<MissingRank> those(const std::vector<Candidate>& candidates, Condition condition) {
  std::vector<MissingRank> found;
  for (const Candidate& one : candidates)
    if (condition(one)) found.push_back({one.rank, one.now.has_value(), one.now ? one.now->point : Point{}});
  return found;
}

}  // namespace

void Watchdog::give_up(std::span<const int64_t> ranks) const {
  static_assert(sizeof(Image) == sizeof(Page));
  std::vector<int64_t> all(pages_.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<Candidate> candidates;
  for (const int64_t rank : ranks.empty() ? std::span<const int64_t>(all) : ranks)
    if (rank != rank_) candidates.push_back({static_cast<int>(rank), {}, {}});
  const auto page_of = [&](const Candidate& one) {
    const auto at = static_cast<size_t>(one.rank);
    return at < pages_.size() ? pages_[at] : ProgressPage{};
  };
  for (Candidate& one : candidates) one.before = read_progress(page_of(one));
  std::this_thread::sleep_for(kBeat);
  for (Candidate& one : candidates) one.now = read_progress(page_of(one));
  // The rank that is furthest behind comes first.
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.now && (!b.now || a.now->count < b.now->count);
  });
  const uint64_t own = page_->count.load(std::memory_order_relaxed);
  // Names the ranks that are behind; if none is, those that came here and hang; else those that can't be seen.
  std::vector<MissingRank> missing = those(candidates, [&](const Candidate& one) { return one.behind(own); });
  if (missing.empty()) missing = those(candidates, [](const Candidate& one) { return one.still(); });
  if (missing.empty()) missing = those(candidates, [](const Candidate& one) { return one.unknown(); });
  if (missing.empty()) missing = those(candidates, [](const Candidate&) { return true; });
  throw WaitError(limit_, std::move(missing));
}

// A rank of which the others know nothing speaks for itself.
bool Watchdog::claim_last_word(std::chrono::milliseconds courtesy) const {
  const auto first =
      std::find_if(pages_.begin(), pages_.end(), [](const ProgressPage& page) { return page.process != 0; });
  if (first == pages_.end()) return true;
  const UniqueFd file = open_page(*first, O_RDWR);
  void* const memory =
      file ? mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
  if (memory == MAP_FAILED) return true;
  Page& page = *static_cast<Page*>(memory);
  const auto end = std::chrono::steady_clock::now() + courtesy;
  while (rank_ != 0 && page.speaker.load() == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  int64_t nobody = 0;
  const bool is_ours = page.token != first->token || page.speaker.compare_exchange_strong(nobody, rank_ + 1);
  munmap(memory, sizeof(Page));
  return is_ours;
}

void Patience::look() {
  const auto now = std::chrono::steady_clock::now();
  if (start_ == std::chrono::steady_clock::time_point{}) start_ = now;
  watchdog_.beat();
  if (now - start_ > std::chrono::seconds(watchdog_.limit())) watchdog_.give_up(ranks_);
}

}  // namespace mtfc
