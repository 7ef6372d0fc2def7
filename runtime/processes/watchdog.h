#pragma once
// Ends a wait for other ranks that lasts too long, and says which ranks are missing and where they are.
//
// All ranks pass the same points in the same order: the steps of a program, and the agreements of Processes.
// Each counts them in a page of memory of its own. Nobody looks at another's page until a wait has lasted too
// long; then it is read through /proc, which a rank that hangs or is stopped need do nothing for. Of ranks on
// other nodes, or of another user, nothing can be read.
//
//   rank 0 waits in all_reduce 'w/grad', at count 17;  rank 1 is at count 12, einsum 'h':  rank 1 is missing

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "runtime/processes/unique_fd.h"

namespace mtfc {

/// A step of a program, or no step: reading, writing, agreeing.
struct Point {
  int entry = -1;  // position of the entry point in the program
  int64_t step = 0;
  int64_t train_step = 0;  // from 0
};

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

/// The location of one rank's page. Ranks exchange these at the start.
struct ProgressPage {
  int64_t process = 0;  // its id, or 0 where this process can't look: on another node
  int file = -1;        // its descriptor there
  uint64_t token = 0;   // stands in the page, lest another process have that id and descriptor
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
  ProgressPage own_page() const { return own_; }
  void set_ranks(int own_rank, std::vector<ProgressPage> pages);

  /// This rank comes to its next point.
  void pass(const Point& point = {});
  /// Throws WaitError: the `ranks` (all where empty) that this one can be waiting for.
  [[noreturn]] void give_up(std::span<const int64_t> ranks) const;
  /// True on one rank of a node only, the first to ask: the one that says why all ranks end. Where several ask
  /// at about the same time, rank 0 comes first: the others wait for it as long as `courtesy`.
  bool claim_last_word(std::chrono::milliseconds courtesy = kCourtesy) const;
  /// Returns whether `rank` is on this node.
  bool sees(int rank) const {
    const auto at = static_cast<size_t>(rank);
    return at < pages_.size() && pages_[at].process != 0;
  }

 private:
  friend class Patience;
  struct Page;
  void beat() const;

  int64_t limit_;
  int rank_ = 0;
  ProgressPage own_;
  UniqueFd file_;  // of the page
  Page* page_ = nullptr;
  std::vector<ProgressPage> pages_;
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
