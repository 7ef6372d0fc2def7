#include "core/diagnostics/stop.h"

#include <doctest/doctest.h>

#include <thread>

namespace mtfc::stop_test {

TEST_CASE("work ends where the innermost scope of its thread says so") {
  const std::function<bool()> stops = [] { return true; }, goes_on = [] { return false; };
  CHECK_NOTHROW(check_stop());
  {
    const StopScope scope(stops);
    CHECK_THROWS_AS(check_stop(), Stopped);
    {
      const StopScope inner(goes_on);
      CHECK_NOTHROW(check_stop());
    }
    CHECK_THROWS_AS(check_stop(), Stopped);
    bool is_stopped = false;
    std::thread([&] {
      try {
        check_stop();
      } catch (const Stopped&) {
        is_stopped = true;
      }
    }).join();
    CHECK(!is_stopped);
  }
  CHECK_NOTHROW(check_stop());
}

}  // namespace mtfc::stop_test
