#include "core/cost/comparison.h"

#include <doctest/doctest.h>

namespace mtfc::comparison_test {

namespace {

ComparedLayout layout(int64_t sent, int64_t memory, double seconds = 0) {
  ComparedLayout made;
  made.report.emplace();
  made.report->communication.total.bytes_sent = sent;
  made.report->memory.peak = memory;
  if (seconds > 0) made.report->time.emplace().step_s = seconds;
  return made;
}

using Order = std::vector<size_t>;

}  // namespace

TEST_CASE("layouts in the order of bytes, then memory, then as given; what is not possible last") {
  ComparedLayout impossible;
  impossible.reason = "why";
  const std::vector<ComparedLayout> layouts = {impossible, layout(5, 1), layout(2, 9), layout(2, 3),
                                               layout(2, 3)};
  CHECK(best_first(layouts) == Order{3, 4, 2, 1, 0});
  CHECK(possible(layouts).size() == 4);
}

TEST_CASE("a predicted time decides before bytes do") {
  CHECK(best_first({layout(1, 1, 0.2), layout(9, 9, 0.1)}) == Order{1, 0});
}

TEST_CASE("the steps that take most") {
  CostReport report;
  report.arithmetic.einsum_per_device = 100;
  report.communication.total.bytes_sent = 10;
  report.steps.resize(3);
  report.steps[0].count.flops = 60;
  report.steps[1].count.bytes_sent = 7;  // a larger share of all bytes
  report.steps[2].count.flops = 40;
  CHECK(costliest_steps(report) == Order{1, 0, 2});
  report.time.emplace();
  report.steps[2].time.seconds = 1;
  CHECK(costliest_steps(report) == Order{2, 0, 1});
}

}  // namespace mtfc::comparison_test
