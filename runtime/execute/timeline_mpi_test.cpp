#include <doctest/doctest.h>

#include "runtime/execute/timeline.h"
#include "scripts/mpi_test_main.h"

namespace mtfc::timeline_mpi_test {
namespace {

TEST_CASE("timelines of all ranks come together on rank 0's clock") {
  Processes& processes = test_processes();
  CHECK(clock_offset(processes) == 0);
  const int64_t rank = processes.rank();
  DeviceTimeline own;
  own.work = {{}, {{10 + rank, 20}, {30, 40}}};
  for (int64_t r = 0; r <= rank; ++r) own.runs.push_back({1, r, {100, 900}, {{200, 300}, {300, 400 + rank}}});
  const int64_t offset = processes.size() == 1 ? 0 : 1000 * rank;
  const std::vector<DeviceTimeline> all = gather_timelines({own}, offset, processes);
  REQUIRE(all.size() == static_cast<size_t>(processes.is_root() ? processes.size() : 0));
  for (size_t r = 0; r < all.size(); ++r) {
    const auto number = static_cast<int64_t>(r);
    REQUIRE(all[r].runs.size() == r + 1);
    const TimedRun& last = all[r].runs.back();
    CHECK(last.entry == 1);
    CHECK(last.train_step == number);
    CHECK(last.span.begin == 100 + 1000 * number);
    CHECK(last.steps[1].end == 400 + number + 1000 * number);
    REQUIRE(all[r].work.size() == 2);
    CHECK(all[r].work[1][0].flops == 10 + number);
    CHECK(all[r].work[1][1].bytes == 40);
  }
}

TEST_CASE("what steps took is the mean over ranks, and the most of any") {
  Processes& processes = test_processes();
  Program program;
  program.entry_points.resize(1);
  program.entry_points[0].steps.resize(1);
  Timeline timeline(program, 1, 0);
  timeline.begin_run(program.entry_points[0], 0);
  timeline.add(0, 0, {0, 1000 * (processes.rank() + 1)});
  timeline.end_run();
  const StepTimes times = timeline.times(program.entry_points[0], processes);
  CHECK(times.max_seconds[0] == doctest::Approx(1e-6 * processes.size()));
  CHECK(times.mean_seconds[0] == doctest::Approx(1e-6 * (processes.size() + 1) / 2));
}

}  // namespace
}  // namespace mtfc::timeline_mpi_test
