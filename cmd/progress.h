#pragma once
// What a person sees while a run goes on: one line that renews itself on a terminal, a line now and then
// elsewhere, nothing when quiet. Goes to standard error.

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mtfc {

using NamedNumber = std::pair<std::string, double>;

/// `loss 0.2134  accuracy 0.94`.
std::string to_text(const std::vector<NamedNumber>& numbers);

class Progress {
 public:
  /// Of `steps` steps `done` were taken in an earlier run.
  Progress(int64_t done, int64_t steps, bool speaks, bool terminal, int width);
  ~Progress() { clear(); }

  /// After step `step` (counted from 1) with its outputs.
  void show(int64_t step, const std::vector<NamedNumber>& numbers);
  /// Removes the line, so that something else can be printed.
  void clear();

 private:
  int64_t done_, steps_;
  bool speaks_, terminal_;
  size_t width_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace mtfc
