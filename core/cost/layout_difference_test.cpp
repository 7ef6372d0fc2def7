#include "core/cost/layout_difference.h"

#include <doctest/doctest.h>

namespace mtfc::layout_difference_test {

namespace {

CostReport report(double product, double all_reduce, double step) {
  CostReport made;
  made.layout.mesh = Mesh({{"rows", 2}, {"cols", 2}});
  made.time.emplace().step_s = step;
  made.steps.resize(3);
  made.steps[0].kind = "einsum";
  made.steps[0].is_product = true;
  made.steps[0].time.seconds = product;
  made.steps[1].kind = "all_reduce";
  made.steps[1].axes = {1};
  made.steps[1].time.seconds = all_reduce;
  made.steps[2].kind = "fused";
  made.steps[2].time.seconds = 1;
  return made;
}

}  // namespace

TEST_CASE("what a longer step spends its time on") {
  const std::vector<TimeDifference> differences = time_differences(report(4, 2, 6), report(9, 0.5, 10.5));
  REQUIRE(differences.size() == 4);
  CHECK(differences[0].what == "products");
  CHECK(differences[0].seconds == 5);
  CHECK(differences[1].what == "all_reduce over cols");
  CHECK(differences[1].seconds == -1.5);
  CHECK(differences[2].what == "overlap");
  CHECK(differences[2].seconds == 1);
  double sum = 0;
  for (const TimeDifference& difference : differences) sum += difference.seconds;
  CHECK(sum == 4.5);
}

TEST_CASE("the rules in which two layouts differ") {
  const Mesh mesh({{"rows", 2}, {"cols", 2}});
  const Layout best{mesh, {{"batch", {0}, {}}, {"heads", {1}, {}}, {"d_ff", {1}, {}}}};
  const Layout other{mesh, {{"d_ff", {0, 1}, {}}, {"batch", {0}, {}}, {"vocab", {1}, {}}}};
  CHECK(rule_differences(best, other) == "heads whole, d_ff over rows+cols, vocab over cols");
  CHECK(rule_differences(best, best) == "");
}

}  // namespace mtfc::layout_difference_test
