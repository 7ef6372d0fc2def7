#pragma once
// The progress display of a run on standard error: one line that is rewritten on a terminal, an occasional
// line elsewhere, nothing if quiet.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/report/metrics_writer.h"

namespace mtfc {

/// `loss 0.2134  accuracy 0.94  tokens 9007199254740993`: whole numbers have all their digits.
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

/// The seconds that the useful products of a step take at the peak rate of all devices; 0: not known, or no products.
struct PeakTime {
  double seconds = 0;
  bool is_measured = false;  // the peak rate, by this run, and not given by a profile
  std::string profile = {};  // the name of that profile
};
/// The efficiency (MFU) of steps that take `seconds`; nothing if it is not known. Nothing is faster than the peak rate,
/// so a measured one that a step exceeds was measured beside other work, and is not the peak rate.
std::optional<double> efficiency(const PeakTime& peak, double seconds);
/// `MFU 45.8 %` of steps that take `mean` seconds, with the profile whose peak rate it is of (a profile may be of
/// another machine); or that it is not known, and why: no step is faster than the peak rate permits,
/// so that of a profile which the `fastest` step exceeds is too low. "" without a peak rate.
std::string mfu_text(const PeakTime& peak, double mean, double fastest);

/// A run of `steps` steps over `rows` rows of data each; the first `done` steps were taken in an earlier run.
struct RunLength {
  int64_t done = 0, steps = 0, rows = 0;
  int64_t tokens = 0;  // of a step; 0: none
  PeakTime peak = {};
};

class Progress {
 public:
  Progress(const RunLength& length, bool is_root, bool terminal, int width);
  ~Progress() { clear(); }

  /// Shows step `step` (counted from 1) with its outputs. Steps take `seconds` in the mean, of which the rates and the
  /// MFU are; the time left is also for what is done between steps.
  void show(int64_t step, const std::vector<NamedNumber>& numbers, double seconds);
  /// Removes the line, so that something else can be printed.
  void clear();

 private:
  RunLength length_;
  bool is_root_, terminal_;
  size_t width_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;  // when it was made, and when a line was shown
  std::chrono::steady_clock::time_point after_first_ =
      {};  // after the first step, which takes longer than others
};

}  // namespace mtfc
