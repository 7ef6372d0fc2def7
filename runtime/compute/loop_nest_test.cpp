#include "runtime/compute/loop_nest.h"

#include <doctest/doctest.h>

namespace mtfc::loop_nest_test {

TEST_CASE("loops join where every tensor walks them as one") {
  const LoopNest whole = collapse({{4, 6, 5}, {{30, 5, 1}}});
  CHECK(whole.extents == std::vector<int64_t>{120});
  CHECK(whole.strides[0] == std::vector<int64_t>{1});
  const LoopNest bias = collapse({{4, 6, 5}, {{30, 5, 1}, {0, 5, 1}}});
  CHECK(bias.extents == std::vector<int64_t>{4, 30});
  CHECK(bias.strides[1] == std::vector<int64_t>{0, 1});
  const LoopNest turned = collapse({{4, 6}, {{1, 4}}});
  CHECK(turned.extents == std::vector<int64_t>{4, 6});
}

TEST_CASE("loops of one iteration go, and one of none leaves nothing") {
  CHECK(collapse({{1, 6, 1}, {{6, 1, 1}}}).extents == std::vector<int64_t>{6});
  CHECK(collapse({{1, 1}, {{1, 1}}}).extents.empty());
  CHECK(collapse({{4, 0, 3}, {{0, 3, 1}}}).count() == 0);
}

TEST_CASE("a cursor starts anywhere and wraps") {
  const LoopNest nest{{2, 3}, {{100, 10}, {1, 0}}};
  NestCursor at(nest, 2, 1);
  std::vector<int64_t> first, second;
  for (int i = 1; i < 6; ++i, at.next()) {
    first.push_back(at.offset(0));
    second.push_back(at.offset(1));
  }
  CHECK(first == std::vector<int64_t>{10, 20, 100, 110, 120});
  CHECK(second == std::vector<int64_t>{0, 0, 1, 1, 1});
}

}  // namespace mtfc::loop_nest_test
