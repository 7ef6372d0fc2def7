#include "core/cost/comparison.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

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

TEST_CASE(
    "layouts that do not fit come after those that do, the one that exceeds the memory by least first") {
  const auto on_device = [](int64_t memory, double seconds) {
    ComparedLayout made = layout(0, memory, seconds);
    made.report->device_memory = 10;
    return made;
  };
  const std::vector<ComparedLayout> layouts = {on_device(30, 0.1), on_device(10, 0.4), on_device(11, 0.2),
                                               on_device(9, 0.5)};
  CHECK(best_first(layouts) == Order{1, 3, 2, 0});
  CHECK(has_best(layouts));
  CHECK_FALSE(has_best({layouts[0], layouts[2]}));
  CHECK(has_best({layout(5, 30)}));  // it is not known what a device has
  CHECK(excess_memory(*layouts[0].report) == 20);
  CHECK(excess_memory(*layouts[1].report) == 0);
}

TEST_CASE("the layouts that no other one dominates, as comparing all pairs finds them") {
  uint32_t seed = 7;
  const auto random = [&](int64_t most) {
    seed = seed * 1664525 + 1013904223;
    return static_cast<int64_t>(seed >> 16) % most + 1;
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<ComparedLayout> layouts;
    for (int64_t i = random(40); i > 0; --i) {
      layouts.push_back(layout(0, random(6), static_cast<double>(random(6))));
      layouts.back().layout.mesh = Mesh({{"all", random(6)}});
      layouts.back().report->device_memory = 5;
      if (random(8) == 1) layouts.back().report.reset();
    }
    const bool one_fits = has_best(layouts);
    const auto is_left_out = [&](const ComparedLayout& one) {
      return !one.report || (one_fits && one.report->memory.peak > 5);
    };
    const auto dominates = [](const ComparedLayout& a, const ComparedLayout& b) {
      const int64_t devices_a = a.layout.mesh.devices(), devices_b = b.layout.mesh.devices();
      const CostReport &left = *a.report, &right = *b.report;
      return left.time->step_s <= right.time->step_s && left.memory.peak <= right.memory.peak &&
             devices_a <= devices_b &&
             (left.time->step_s < right.time->step_s || left.memory.peak < right.memory.peak ||
              devices_a < devices_b);
    };
    std::set<size_t> expected;
    for (size_t i = 0; i < layouts.size(); ++i)
      if (!is_left_out(layouts[i]) &&
          std::none_of(layouts.begin(), layouts.end(), [&](const ComparedLayout& other) {
            return !is_left_out(other) && dominates(other, layouts[i]);
          }))
        expected.insert(i);
    const std::vector<size_t> found = pareto_front(layouts);
    CHECK(std::set<size_t>(found.begin(), found.end()) == expected);
    CHECK(found.size() == expected.size());
    CHECK(std::is_sorted(found.begin(), found.end(), [&](size_t a, size_t b) {
      return layouts[a].report->time->step_s < layouts[b].report->time->step_s;
    }));
  }
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
