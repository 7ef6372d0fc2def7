#include "core/cost/part_times.h"

#include <doctest/doctest.h>

namespace mtfc::part_times_test {
namespace {

StepCost step(const std::string& name, double seconds, double at_peak, Phase phase = Phase::kForward,
              AxisList axes = {}) {
  StepCost made;
  made.name = name;
  made.phase = phase;
  made.axes = std::move(axes);
  made.time.seconds = seconds;
  made.time.at_peak_s = at_peak;
  return made;
}

TEST_CASE("times are added up by blocks, whatever their number, with gradients and updates") {
  CostReport report;
  report.steps = {step("layers_0/sparse/moe/y", 1, 0.5),
                  step("layers_12/sparse/moe/dispatch/y/grad/gather_dot", 2, 1, Phase::kBackward),
                  step("layers_0/sparse/moe/received@experts/rows+cols", 4, 3, Phase::kForward, {0}),
                  step("layers_0/sparse/moe/gates/w/adamw/sub", 8, 2, Phase::kUpdate),
                  step("layers_3/dense/y", 0.5, 0.25),
                  step("loss", 0.125, 0),
                  step("idle", 0, 0)};
  report.steps[0].count.bytes_sent = 20;
  report.steps[2].count.bytes_sent = 50;
  const std::vector<PartTime> parts = part_times(report, 2);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].part == "layers_*/sparse");
  CHECK(parts[0].kernels_s == 11);
  CHECK(parts[0].collectives_s == 4);
  CHECK(parts[0].at_peak_s == 6.5);
  CHECK(parts[0].bytes_sent == 70);
  CHECK(parts[0].names == std::vector<std::string>{"layers_0/sparse", "layers_12/sparse"});
  CHECK(parts[1].names == std::vector<std::string>{"layers_3/dense"});
  CHECK(parts[1].part == "layers_*/dense");
  CHECK(parts[2].part.empty());
  const std::vector<PartTime> deeper = part_times(report, 9);
  REQUIRE(deeper.size() == 5);
  CHECK(deeper[0].part == "layers_*/sparse/moe/gates");
  CHECK(deeper[1].part == "layers_*/sparse/moe");
  CHECK(deeper[2].part == "layers_*/sparse/moe/dispatch");
}

}  // namespace
}  // namespace mtfc::part_times_test
