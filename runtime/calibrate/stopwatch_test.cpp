#include "runtime/calibrate/stopwatch.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

namespace mtfc::stopwatch_test {

TEST_CASE("the least time is that of the one run which nothing has slowed down") {
  constexpr auto kSlow = std::chrono::milliseconds(40), kQuick = std::chrono::milliseconds(1);
  Processes alone = Processes::alone();
  Stopwatch watch(alone, 0.05);
  // Two runs come before the samples, of which there are three.
  int runs = 0;
  const auto work = [&] { std::this_thread::sleep_for(runs++ == 3 ? kQuick : kSlow); };
  CHECK(watch.seconds(work) >= 0.04);
  CHECK(runs == 5);
  runs = 0;
  CHECK(watch.least_seconds(work) < 0.04);
}

}  // namespace mtfc::stopwatch_test
