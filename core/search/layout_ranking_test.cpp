#include "core/search/layout_ranking.h"

#include <doctest/doctest.h>

namespace mtfc::layout_ranking_test {

namespace {

FoundLayout found(double step_s, int64_t memory, const std::vector<Rule>& rules) {
  return {{Mesh({{"r", 2}, {"c", 2}}), rules}, step_s, memory};
}

}  // namespace

TEST_CASE("of layouts with the same figures the simplest stays") {
  LayoutRanking ranking(2);
  ranking.group();
  CHECK(!ranking.excludes(100));
  ranking.add(found(3, 1, {{"a", {1, 0}, {}}}));
  ranking.add(found(5, 1, {}));
  ranking.add(found(3, 1, {{"a", {0}, {}}, {"b", {1}, {}}}));
  ranking.add(found(3, 1, {{"a", {0, 1}, {}}}));
  ranking.group();
  REQUIRE(ranking.best().size() == 2);
  CHECK(to_string(ranking.best()[0].layout) == "a:r+c");
  CHECK(ranking.best()[0].equals == 2);
  CHECK(ranking.best()[0].variants == 0);
  CHECK(!ranking.excludes(5));
  CHECK(ranking.excludes(5.001));
  ranking.add(found(3.2, 2, {{"b", {0}, {}}}));
  ranking.group();
  CHECK(to_string(ranking.best()[1].layout) == "b:r");
  CHECK(ranking.excludes(3.201));
}

TEST_CASE(
    "of equally fast layouts the one with the fewest rules comes first, and its variants are not shown") {
  const Rule batch{"batch", {0}, {}}, places{"places", {1}, {}}, places_by_two{"places", {1, 0}, {}},
      heads{"heads", {1}, {}};
  LayoutRanking ranking(3);
  ranking.add(found(0.998, 1, {batch, places_by_two}));
  ranking.add(found(0.999, 1, {batch, places}));
  ranking.add(found(1.0, 1, {batch}));
  ranking.add(found(1.005, 1, {heads, places}));  // as fast, but no variant
  ranking.add(found(1.02, 1, {batch, heads}));    // splits more, but is slower by more than 1 %
  ranking.add(found(2, 1, {}));
  ranking.group();
  REQUIRE(ranking.best().size() == 3);
  CHECK(to_string(ranking.best()[0].layout) == "batch:r");
  CHECK(ranking.best()[0].variants == 2);
  CHECK(to_string(ranking.best()[1].layout) == "heads:c,places:c");
  CHECK(to_string(ranking.best()[2].layout) == "batch:r,heads:c");
  CHECK(ranking.shortest() == 0.998);
  CHECK(!ranking.excludes(1.02));
  CHECK(ranking.excludes(1.021));
}

TEST_CASE("equally fast layouts that only swap axes are variants") {
  const Mesh oblong({{"r", 2}, {"c", 4}}), upright({{"r", 4}, {"c", 2}}), line({{"all", 8}}),
      flat({{"r", 1}, {"c", 8}});
  const Rule batch_r{"batch", {0}, {}}, batch_c{"batch", {1}, {}}, heads_r{"heads", {0}, {}},
      heads_c{"heads", {1}, {}};
  // For each pair of layouts, whether they are one family.
  const auto families = [](const Layout& one, const Layout& other, double step_s) {
    LayoutRanking ranking(2);
    ranking.add({one, 1, 7});
    ranking.add({other, step_s, 7});
    ranking.group();
    CHECK(ranking.best().front().variants + static_cast<int64_t>(ranking.best().size()) == 2);
    return ranking.best().size();
  };
  CHECK(families({oblong, {batch_r, heads_c}}, {upright, {heads_r, batch_c}}, 1.005) == 1);
  CHECK(families({oblong, {batch_r, heads_c}}, {upright, {heads_r, batch_c}}, 1.02) == 2);
  CHECK(families({oblong, {batch_r, heads_c}}, {upright, {batch_r, heads_c}}, 1.005) == 2);  // other sizes
  CHECK(families({oblong, {{"batch", {0, 1}, {}}}}, {upright, {{"batch", {1, 0}, {}}}}, 1.005) == 1);
  CHECK(families({oblong, {{"batch", {0, 1}, {}}}}, {upright, {{"batch", {0, 1}, {}}}}, 1.005) == 2);
  CHECK(families({line, {batch_r}}, {flat, {batch_c}}, 1.005) == 1);
  CHECK(families({oblong, {batch_r}}, {oblong, {heads_r}}, 1.005) == 2);  // other dimensions
  const Mesh square({{"r", 2}, {"c", 2}});
  CHECK(families({square, {batch_r, heads_c}}, {square, {batch_c, heads_r}}, 1.005) == 1);
  CHECK(families({square, {batch_r, heads_r}}, {square, {batch_r, heads_c}}, 1.005) ==
        2);  // no longer the same axis
  CHECK(families({square, {batch_r, heads_c}}, {square, {batch_r, heads_r}}, 1.005) == 2);
}

TEST_CASE("the reports of layouts far behind the best are dropped") {
  LayoutRanking ranking(1);
  std::vector<std::weak_ptr<const CostReport>> reports;
  for (int i = 0; i < 10; ++i) {
    auto report = std::make_shared<const CostReport>();
    reports.push_back(report);
    FoundLayout one = found(10 - i, i, {});
    one.report = std::move(report);
    ranking.add(std::move(one));
    ranking.group();
    CHECK(ranking.best().front().report == reports.back().lock());
  }
  CHECK(!reports[8].expired());  // the second of all
  CHECK(reports.front().expired());
}

TEST_CASE("nothing within 1 % of the shortest step is excluded, as it may have fewer rules") {
  LayoutRanking ranking(1);
  ranking.add(found(1, 1, {{"a", {0}, {}}}));
  ranking.group();
  CHECK(!ranking.excludes(1.0099));
  CHECK(ranking.excludes(1.0101));
}

}  // namespace mtfc::layout_ranking_test
