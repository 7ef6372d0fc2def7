#pragma once
// The page of memory in which a rank says how far it has come. Others of its node read it through /proc, so a rank
// that hangs or is stopped need do nothing for that. The page of a rank on another node, in another PID namespace or
// of another user cannot be read.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "runtime/processes/unique_fd.h"

namespace mtfc {

/// A step of a program, or no step: reading, writing, agreeing.
struct Point {
  int entry = -1;  // position of the entry point in the program
  int64_t step = 0;
  int64_t train_step = 0;  // from 0
};

/// The location of one rank's page.
struct ProgressPage {
  int64_t process = 0;  // its id, or 0 where this process can't look
  int file = -1;        // its descriptor there
  uint64_t token = 0;   // stands in the page, lest another process have that id and descriptor
};

/// The contents of a page. One thread writes them while others read. A reader may see a new count with an old point;
/// it then names an earlier step, but not a wrong rank.
struct RankProgress {
  uint64_t count = 0;  // of points passed
  uint64_t beats = 0;  // of looks at the clock while waiting
  Point point;
};

/// The page as it lies in memory.
struct PageMemory {
  uint64_t token;
  std::atomic<uint64_t> count, beats;
  std::atomic<int64_t> entry, step, train_step;
  std::atomic<int64_t> speaker;  // of the node, in its first rank's page: 1 + the rank; 0: none yet
};

/// This process's own page. Without memory that others can read, they know less of this rank; it runs all the same.
class OwnPage {
 public:
  OwnPage();
  ~OwnPage();
  OwnPage(const OwnPage&) = delete;
  OwnPage& operator=(const OwnPage&) = delete;

  PageMemory& memory() const { return *memory_; }
  const ProgressPage& place() const { return place_; }
  RankProgress progress() const;

 private:
  UniqueFd file_;
  PageMemory* memory_ = nullptr;
  ProgressPage place_;
};

/// Opens a page with the flags of open(2); no descriptor where that is impossible.
UniqueFd open_page(const ProgressPage& page, int flags);
/// Returns nothing where the page can't be read.
std::optional<RankProgress> read_progress(const ProgressPage& page);
/// Looks for the page of a process that has not told its location. `process` is 0 where there is none.
ProgressPage page_of(pid_t process);

}  // namespace mtfc
