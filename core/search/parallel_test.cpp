#include "core/search/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

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

}  // namespace mtfc::parallel_test
