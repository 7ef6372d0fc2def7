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

/// The parts of the progress line.
struct ProgressParts {
  std::string step;                  // `step 3/100`
  std::vector<std::string> numbers;  // `loss 0.2134`
  std::string steps_rate, rows_rate, left;
  std::string tokens_rate = {}, mfu = {};
};
/// The parts in at most `width` characters. Where there is no room for all of them, the least important are left
/// out, and two dots say so if numbers are: first the rows per second, then the tokens per second, the MFU, numbers
/// from the last to the second, the steps per second, and the first number. The step and the time left are always
/// there, unless not even they fit; then the line is the time left.
std::string progress_line(const ProgressParts& parts, size_t width);

/// A run of `steps` steps over `rows` rows of data each; the first `done` steps were taken in an earlier run.
struct RunLength {
  int64_t done = 0, steps = 0, rows = 0;
  int64_t tokens = 0;       // of a step; 0: none
  double peak_seconds = 0;  // that its products take at the peak rate, for the MFU; 0: not known
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
