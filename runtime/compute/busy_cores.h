#pragma once
// Short loops on a busy machine. A loop that threads share ends with its last thread. If another process occupies that
// thread's core, the loop ends some milliseconds late, a hundred times what a short loop takes. After such a loop, the
// calling thread does short loops alone for some time, and then tries again. Results do not change, because a loop is
// cut into the same ranges.

#include <chrono>
#include <cstdint>

namespace mtfc {

class BusyCores {
 public:
  using Clock = std::chrono::steady_clock;

  /// Loops of fewer element operations are short: they take some milliseconds at most.
  static constexpr int64_t kShortWork = int64_t{1} << 21;

  /// The observations of the calling thread.
  static BusyCores& of_this_thread();

  /// Returns whether threads should share a short loop that begins now.
  bool may_share(Clock::time_point now) const { return now >= alone_until_; }
  /// Says how long threads took for a short loop of `work` element operations.
  void note(int64_t work, Clock::time_point begin, Clock::time_point end);

 private:
  static constexpr std::chrono::milliseconds kShortestPause{100}, kLongestPause{1600};

  Clock::time_point alone_until_ = {};
  Clock::duration pause_ = kShortestPause;
};

}  // namespace mtfc
