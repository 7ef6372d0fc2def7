#include "runtime/compute/busy_cores.h"

#include <doctest/doctest.h>

namespace mtfc::busy_cores_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST_CASE("after a loop that ended late, threads share no short loop for a while") {
  BusyCores busy;
  const BusyCores::Clock::time_point start = BusyCores::Clock::now();
  CHECK(busy.may_share(start));
  busy.note(100'000, start, start + microseconds(300));
  CHECK(busy.may_share(start + microseconds(300)));
  busy.note(100'000, start, start + milliseconds(4));
  CHECK_FALSE(busy.may_share(start + milliseconds(5)));
  CHECK_FALSE(busy.may_share(start + milliseconds(103)));
  CHECK(busy.may_share(start + milliseconds(104)));
}

TEST_CASE("the pauses grow while cores stay busy, and are short again after a loop in time") {
  BusyCores busy;
  BusyCores::Clock::time_point now = BusyCores::Clock::now();
  for (const int pause : {100, 200, 400, 800, 1600, 1600}) {
    busy.note(0, now, now + milliseconds(2));
    now += milliseconds(2 + pause);
    CHECK_FALSE(busy.may_share(now - milliseconds(1)));
    CHECK(busy.may_share(now));
  }
  busy.note(0, now, now + microseconds(20));
  busy.note(0, now, now + milliseconds(2));
  CHECK(busy.may_share(now + milliseconds(102)));
}

TEST_CASE("a loop of more work may take longer") {
  BusyCores busy;
  const BusyCores::Clock::time_point start = BusyCores::Clock::now();
  busy.note(BusyCores::kShortWork, start, start + milliseconds(4));
  CHECK(busy.may_share(start + milliseconds(4)));
}

}  // namespace
}  // namespace mtfc::busy_cores_test
