#pragma once
// The progress display of a run on standard error: one line that is rewritten on a terminal, an occasional
// line elsewhere, nothing if quiet.

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mtfc {

using NamedNumber = std::pair<std::string, double>;

/// `loss 0.2134  accuracy 0.94`.
std::string to_text(const std::vector<NamedNumber>& numbers);

/// A run of `steps` steps over `rows` rows of data each; the first `done` steps were taken in an earlier run.
struct RunLength {
  int64_t done = 0, steps = 0, rows = 0;
};

class Progress {
 public:
  Progress(const RunLength& length, bool speaks, bool terminal, int width);
  ~Progress() { clear(); }

  /// Shows step `step` (counted from 1) with its outputs.
  void show(int64_t step, const std::vector<NamedNumber>& numbers);
  /// Removes the line, so that something else can be printed.
  void clear();

 private:
  RunLength length_;
  bool speaks_, terminal_;
  size_t width_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace mtfc
