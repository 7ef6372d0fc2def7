#include "runtime/execute/timeline.h"

#include <doctest/doctest.h>

#include "runtime/processes/clock_offset.h"

namespace mtfc::timeline_test {
namespace {

Program two_steps() {
  Program program;
  program.entry_points.resize(2);
  program.entry_points[1].steps.resize(2);
  return program;
}

// On two devices, step s of device d takes 1000 * (d + 1) * (s + 1) * factor nanoseconds.
void run(Timeline& timeline, const EntryPoint& entry, int64_t train_step, int64_t factor) {
  timeline.begin_run(entry, train_step);
  for (size_t step = 0; step < 2; ++step)
    for (size_t device = 0; device < 2; ++device) {
      const int64_t begin = Timeline::now();
      timeline.add(device, step,
                   {begin, begin + 1000 * static_cast<int64_t>((device + 1) * (step + 1)) * factor});
    }
  timeline.end_run();
}

TEST_CASE("the last runs are kept, and totals leave out the first") {
  const Program program = two_steps();
  const EntryPoint& entry = program.entry_points[1];
  Processes processes = Processes::alone();
  Timeline timeline(program, 2, 2);
  run(timeline, entry, 0, 1000);
  CHECK(timeline.times(entry, processes).runs == 1);
  CHECK(timeline.times(entry, processes).mean_seconds[0] == doctest::Approx(1.5e-3));
  for (int64_t step = 1; step < 6; ++step) run(timeline, entry, step, step);
  const StepTimes times = timeline.times(entry, processes);
  CHECK(times.runs == 5);
  CHECK(times.mean_seconds[0] == doctest::Approx(1.5 * 3e-6));
  CHECK(times.mean_seconds[1] == doctest::Approx(2 * 1.5 * 3e-6));
  CHECK(times.max_seconds == times.mean_seconds);
  const DeviceTimeline second = timeline.device_timeline(1);
  REQUIRE(second.runs.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const TimedRun& kept = second.runs[i];
    CHECK(kept.entry == 1);
    CHECK(kept.train_step == static_cast<int64_t>(4 + i));
    REQUIRE(kept.steps.size() == 2);
    CHECK(kept.steps[1].end - kept.steps[1].begin == 4000 * kept.train_step);
    CHECK(kept.span.begin <= kept.steps[0].begin);
  }
}

TEST_CASE("without kept runs there are totals only, and none of what never ran") {
  const Program program = two_steps();
  Processes processes = Processes::alone();
  Timeline timeline(program, 2, 0);
  run(timeline, program.entry_points[1], 0, 1);
  CHECK(timeline.device_timeline(0).runs.empty());
  CHECK(timeline.times(program.entry_points[1], processes).mean_seconds[0] == doctest::Approx(1.5e-6));
  CHECK(timeline.times(program.entry_points[0], processes).runs == 0);
}

TEST_CASE("the quickest message tells how far two clocks are apart") {
  CHECK(offset_of({}) == 0);
  // The second reading is the quickest: rank 0 is 5000 ahead of the middle of 100 and 120.
  CHECK(offset_of({{0, 9000, 90}, {100, 5110, 120}, {200, 5900, 900}}) == 5000);
  CHECK(offset_of({{5100, 110, 5120}}) == -5000);
  // Clocks that may be equal are taken as equal.
  CHECK(offset_of({{100, 101, 140}}) == 0);
}

}  // namespace
}  // namespace mtfc::timeline_test
