#pragma once
// Says what a command is doing while one waits for it: nothing at first; then, in a line that is rewritten on a
// terminal, or in a line now and then elsewhere, the last thing that the work has told (core/diagnostics/progress.h),
// and since when:
//
//   choosing the plan of train: 1,200 of 5,400 operations, 12 s
//
// A thread of its own shows the line, so that it comes whatever the work does.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>

#include "cmd/terminal/status_line.h"
#include "core/diagnostics/progress.h"

namespace mtfc {

/// The line that is shown after so many seconds.
std::string work_text(const WorkPart& part, int64_t seconds);

class WorkWatch {
 public:
  /// When lines come. In a file, the first one comes once the process has computed for so long, or waited `between`: a
  /// test on a busy machine then finds no line that it would not find elsewhere.
  struct Times {
    std::chrono::milliseconds first{2000};     // until the first line
    std::chrono::milliseconds between{20000};  // two lines in a file
    std::chrono::milliseconds look{200};       // between looks at the clock
  };
  /// Watches this thread. `out` must outlive it.
  WorkWatch(std::ostream& out, StatusLine::Place place) : WorkWatch(out, place, Times()) {}
  WorkWatch(std::ostream& out, StatusLine::Place place, const Times& times);
  ~WorkWatch();
  WorkWatch(const WorkWatch&) = delete;
  WorkWatch& operator=(const WorkWatch&) = delete;

  /// Removes the line of the watch that there is, if any, from a terminal, so that something else can be printed. It
  /// comes back when the work tells something.
  static void make_way();

 private:
  void hear(const WorkPart& part);
  void show_lines();
  bool is_due(std::chrono::steady_clock::time_point now) const;

  const Times times_;
  const StatusLine::Place place_;
  const std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;  // guards what follows
  StatusLine line_;
  WorkPart part_{"reading"};
  bool has_way_ = true;
  bool is_done_ = false;
  std::chrono::steady_clock::time_point shown_;
  bool was_shown_ = false;
  std::condition_variable ends_;
  const std::function<void(const WorkPart&)> hears_;
  const ProgressListener listener_;
  std::thread thread_;
};

}  // namespace mtfc
