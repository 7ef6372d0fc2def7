#include "runtime/compute/busy_cores.h"

#include <algorithm>

namespace mtfc {
namespace {

// A loop is late if it takes longer than kLate + work * kLateByWork. kLate is less than a time slice. Two threads take
// half a nanosecond or less for an element operation, but a few for an exponential, or where pages are touched for the
// first time.
constexpr std::chrono::microseconds kLate{1000};
constexpr std::chrono::nanoseconds kLateByWork{2};

}  // namespace

BusyCores& BusyCores::of_this_thread() {
  static thread_local BusyCores busy;
  return busy;
}

void BusyCores::note(int64_t work, Clock::time_point begin, Clock::time_point end) {
  if (end - begin <= kLate + work * kLateByWork) {
    pause_ = kShortestPause;
    return;
  }
  alone_until_ = end + pause_;
  pause_ = std::min<Clock::duration>(2 * pause_, kLongestPause);
}

}  // namespace mtfc
