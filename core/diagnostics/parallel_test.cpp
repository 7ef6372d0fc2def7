#include "core/diagnostics/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/diagnostics/progress.h"
#include "core/diagnostics/stop.h"

namespace mtfc::parallel_test {

TEST_CASE("each piece of work is done once, whatever the threads") {
  for (const size_t threads : {0, 1, 3, 20}) {
    std::vector<std::atomic<int>> done(10);
    each_in_parallel(done.size(), threads, [&](size_t i) { ++done[i]; });
    for (const std::atomic<int>& times : done) CHECK(times == 1);
  }
}

TEST_CASE("the failure of the lowest number is thrown when all work is done") {
  std::atomic<int> done = 0;
  const auto run = [&] {
    each_in_parallel(6, 2, [&](size_t i) {
      ++done;
      if (i == 2) throw std::runtime_error("two");
      if (i == 4) throw std::runtime_error("four");
    });
  };
  CHECK_THROWS_WITH(run(), "two");
  CHECK(done == 6);
}

// The threads that work on two pieces, each of which waits for the other as long as both may run at once.
size_t threads_of_two() {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  each_in_parallel(2, [&](size_t) {
    for (int look = 0; look < 200; ++look) {
      {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
        if (seen.size() == 2) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  return seen.size();
}

TEST_CASE("work is shared by as many threads as the scope says, and its own pieces are not shared again") {
  CHECK(threads_of_two() == 1);
  {
    const ThreadScope two(2);
    std::vector<size_t> inner(2);
    each_in_parallel(2, [&](size_t i) { inner[i] = threads_of_two(); });
    CHECK(inner == std::vector<size_t>{1, 1});
    CHECK(threads_of_two() == 2);
  }
  CHECK(threads_of_two() == 1);
}

TEST_CASE("threads stop as the caller does, and tell its listener what they do") {
  std::mutex mutex;
  std::set<std::string> told;
  const std::function<void(const WorkPart&)> hears = [&](const WorkPart& part) {
    const std::lock_guard lock(mutex);
    told.insert(part.what);
  };
  std::atomic<bool> is_over = false;
  const std::function<bool()> stops = [&] { return is_over.load(); };
  const ProgressListener listener(hears);
  const StopScope scope(stops);
  const LargerWork larger("all");
  const ThreadScope three(3);
  each_in_parallel(6, [&](size_t i) {
    check_stop();
    tell_progress({std::to_string(i)});
  });
  CHECK(told == std::set<std::string>{"all: 0", "all: 1", "all: 2", "all: 3", "all: 4", "all: 5"});
  is_over = true;
  std::atomic<int> stopped = 0;
  each_in_parallel(6, [&](size_t) {
    try {
      check_stop();
    } catch (const Stopped&) {
      ++stopped;
    }
  });
  CHECK(stopped == 6);
}

}  // namespace mtfc::parallel_test
