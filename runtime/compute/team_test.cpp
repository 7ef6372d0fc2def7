#include "runtime/compute/team.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/compute/parallel.h"
#include "runtime/compute/threads.h"

namespace mtfc::team_test {
namespace {

constexpr int64_t kMuch = 100 * kParallelWork;

std::vector<int> times_done(int64_t count) {
  std::vector<int> times(static_cast<size_t>(count), 0);
  parallel_ranges(count, kMuch, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++times[static_cast<size_t>(i)];
  });
  return times;
}

}  // namespace

TEST_CASE("a team shares loops of every length, as long as it is led") {
  for (const int size : {1, 2, 3, 5}) {
    CAPTURE(size);
    Team team(size);
    const int before = omp_get_max_threads();
    {
      const Team::Lead lead(&team);
      CHECK(Team::led() == &team);
      CHECK(thread_count() == size);
      CHECK(omp_get_max_threads() == 1);  // for libraries
      for (int64_t count = 0; count < 20; ++count)
        CHECK(times_done(count) == std::vector<int>(static_cast<size_t>(count), 1));
    }
    CHECK(Team::led() == nullptr);
    CHECK(omp_get_max_threads() == before);
  }
}

TEST_CASE("members of a team have numbers of their own, and loops within a loop run on one thread") {
  constexpr int kSize = 4;
  Team team(kSize);
  const Team::Lead lead(&team);
  std::vector<int64_t> numbers(kSize, -1), counts(kSize, 0), inner(kSize, 0);
  parallel_ranges(kSize, kMuch, [&](int64_t begin, int64_t) {
    const auto i = static_cast<size_t>(begin);
    numbers[i] = thread_number();
    counts[i] = thread_count();
    parallel_ranges(10, kMuch, [&](int64_t first, int64_t last) { inner[i] += last - first; });
  });
  std::sort(numbers.begin(), numbers.end());
  CHECK(numbers == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(counts == std::vector<int64_t>(kSize, 1));
  CHECK(inner == std::vector<int64_t>(kSize, 10));
  CHECK(thread_number() == 0);
}

TEST_CASE("members that have gone to sleep wake up for a loop, and ones that are busy miss none") {
  Team team(3);
  const Team::Lead lead(&team);
  int64_t sum = 0;
  for (int round = 0; round < 3000; ++round) {
    if (round % 1000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::vector<int64_t> sums(3, 0);
    parallel_ranges(3, kMuch, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sums[static_cast<size_t>(i)] = i + round;
    });
    sum += std::accumulate(sums.begin(), sums.end(), int64_t{0});
  }
  CHECK(sum == 3 * 3000 + 3 * (2999 * 3000 / 2));
}

TEST_CASE("each shared item is done once, by a team and by OpenMP") {
  Team team(3);
  for (Team* const led : {&team, static_cast<Team*>(nullptr)}) {
    const Team::Lead lead(led);
    for (int64_t count = 0; count <= kMostShared; ++count) {
      std::vector<std::atomic<int>> times(static_cast<size_t>(count));
      parallel_shares(count, kMuch, [&](int64_t i) { ++times[static_cast<size_t>(i)]; });
      CHECK(std::all_of(times.begin(), times.end(), [](const std::atomic<int>& n) { return n == 1; }));
    }
  }
}

TEST_CASE("what is read ahead may be anything") {
  Team team(2);
  const Team::Lead lead(&team);
  const std::vector<std::byte> weights(100'000);
  for (int round = 0; round < 50; ++round) {
    team.read_ahead(round % 3 == 0 ? std::span<const std::byte>{}
                                   : std::span(weights).subspan(static_cast<size_t>(round)));
    CHECK(times_done(5) == std::vector<int>(5, 1));
  }
}

TEST_CASE("a rank of one thread has no team") {
  const int before = threads();
  set_threads(1);
  CHECK(Team::of_own_threads() == nullptr);
  set_threads(2);
  CHECK((Team::of_own_threads() != nullptr) == (omp_get_proc_bind() == omp_proc_bind_false));
  set_threads(before);
}

}  // namespace mtfc::team_test
