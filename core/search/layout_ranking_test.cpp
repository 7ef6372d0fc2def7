#include "core/search/layout_ranking.h"

#include <doctest/doctest.h>

namespace mtfc::layout_ranking_test {

namespace {

FoundLayout found(double step_s, int64_t memory, const std::vector<Rule>& rules) {
  return {{Mesh({{"r", 2}, {"c", 2}}), rules}, step_s, memory};
}

}  // namespace

TEST_CASE("the shortest steps stay, and of equal ones the simplest layout") {
  LayoutRanking ranking(2);
  CHECK(!ranking.excludes(100));
  ranking.add(found(3, 1, {{"a", {1, 0}, {}}}));
  ranking.add(found(5, 1, {}));
  ranking.add(found(3, 1, {{"a", {0}, {}}, {"b", {1}, {}}}));
  ranking.add(found(3, 1, {{"a", {0, 1}, {}}}));
  REQUIRE(ranking.layouts().size() == 2);
  CHECK(to_string(ranking.layouts()[0].layout) == "a:r+c");
  CHECK(ranking.layouts()[0].equals == 2);
  CHECK(!ranking.excludes(5));
  CHECK(ranking.excludes(5.001));
  ranking.add(found(3, 2, {}));  // more memory: another layout, and the other one falls off
  CHECK(ranking.layouts()[1].memory == 2);
  CHECK(ranking.excludes(3.001));
}

}  // namespace mtfc::layout_ranking_test
