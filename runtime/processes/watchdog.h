#pragma once
// Ends a wait for other ranks that lasts too long, and says which ranks are missing and where they are.
//
// All ranks pass the same points in the same order: the steps of a program, and the agreements of Processes. Each
// counts them in a page of its own (progress_page.h). Nobody looks at another's page until a wait has lasted too long.
// Ranks whose page can't be read, such as those on other nodes, are asked by messages.
//
//   rank 0 waits in all_reduce 'w/grad', at count 17
//   rank 1 is at count 12, einsum 'h', and does not wait:  it is missing
//   rank 2 is at count 16, and waits, for rank 1 too:      it is not

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnostics/error.h"
#include "runtime/processes/progress_page.h"

namespace mtfc {

struct MissingRank {
  int rank = 0;
  bool known = false;  // whether its point could be read
  Point point = {};
};

/// A wait lasted too long. The message names the ranks; whoever knows the program adds where they are.
class WaitError : public RunError {
 public:
  WaitError(int64_t seconds, std::vector<MissingRank> missing);
  int64_t seconds() const { return seconds_; }
  const std::vector<MissingRank>& missing() const { return missing_; }

 private:
  int64_t seconds_;
  std::vector<MissingRank> missing_;
};

/// `rank 1`, `ranks 1, 2, 5`
std::string rank_text(const std::vector<int>& ranks);

/// Asks ranks for their progress by messages, where no page can be read. A rank answers while it waits itself, so one
/// that hangs, is stopped or computes does not.
class Inquiry {
 public:
  virtual ~Inquiry() = default;
  /// Answers the questions that have come.
  virtual void answer() = 0;
  /// Returns the answers of those `ranks` that give one soon.
  virtual std::map<int, RankProgress> ask(const std::vector<int>& ranks) = 0;
};

/// Tells the other ranks which point this rank has reached, and reads theirs. It is made before the rank's
/// Processes, which fills in the pages of the others, and must outlive everything that waits.
class Watchdog {
 public:
  static constexpr int64_t kUsualLimit = 600;
  static constexpr std::chrono::milliseconds kCourtesy{300};

  /// `limit`: how long a wait may last, in seconds.
  explicit Watchdog(int64_t limit = kUsualLimit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  int64_t limit() const { return limit_; }
  ProgressPage own_page() const { return own_.place(); }
  RankProgress own_progress() const { return own_.progress(); }
  int rank() const { return rank_; }
  /// `pages`: those of all ranks, by rank; of the own one too.
  void set_ranks(int own_rank, std::vector<ProgressPage> pages);
  /// The inquiry must not be used after MPI has ended; nullptr ends its use.
  void set_inquiry(std::unique_ptr<Inquiry> inquiry) { inquiry_ = std::move(inquiry); }

  /// This rank comes to its next point.
  void pass(const Point& point = {});
  /// This rank waits, and does not hang.
  void beat() const { own_.memory().beats.fetch_add(1, std::memory_order_relaxed); }
  /// Waits as long as `time`, and says so to the others.
  void beat_for(std::chrono::milliseconds time) const;
  /// Throws WaitError. This rank waits for `ranks`, or for all if these are empty. If they wait themselves, the error
  /// names the ranks for which they may wait.
  [[noreturn]] void give_up(std::span<const int64_t> ranks) const;
  /// True on one rank of a node only, the first to ask: the one that says why all ranks end. If several ask
  /// at about the same time, rank 0 comes first: the others wait for it as long as `courtesy`.
  bool claim_last_word(std::chrono::milliseconds courtesy = kCourtesy) const;
  /// Returns whether `rank` is on this node.
  bool sees(int rank) const {
    const auto at = static_cast<size_t>(rank);
    return at < pages_.size() && pages_[at].process != 0;
  }

 private:
  friend class Patience;

  int64_t limit_;
  int rank_ = 0;
  OwnPage own_;
  std::vector<ProgressPage> pages_;
  std::unique_ptr<Inquiry> inquiry_;
};

/// The way in which a rank waits for others.
struct Waiting {
  const Watchdog& watchdog;
  bool yields;  // gives its core away in between, since others need it
};

/// One wait. Calls of poll() between looks at what is waited for end it when it is too long.
class Patience {
 public:
  /// `ranks`: those that may be waited for, which must outlive it; all where empty.
  explicit Patience(const Watchdog& watchdog, std::span<const int64_t> ranks = {})
      : watchdog_(watchdog), ranks_(ranks) {}
  /// Cheap: looks at the clock every few hundred times.
  void poll() {
    if (++polls_ % kPolls == 0) look();
  }

 private:
  static constexpr uint64_t kPolls = 512;
  void look();

  const Watchdog& watchdog_;
  std::span<const int64_t> ranks_;
  uint64_t polls_ = 0;
  std::chrono::steady_clock::time_point start_ = {};
};

}  // namespace mtfc
