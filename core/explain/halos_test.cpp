#include "core/explain/halos.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/tensors/window.h"

// The expected halos are those of GShard's cases, appendix A.4, worked out by hand for shards that are rounded down.
namespace mtfc::halos_test {
namespace {

struct Halos {
  std::vector<int64_t> left, right, neighbours;
  bool operator==(const Halos&) const = default;
};

Halos halos_of(const Window& window, int64_t devices) {
  const Mesh mesh({{"x", devices}});
  const Sharding from{{AxisList{0}}, {}};
  Sharding to = from;
  to.windows = {{0, window.to.size, window.stride, window.low, window.span(), window.base}};
  Halos halos;
  const std::vector<DimHalos> found = halos_between({{window.dim}, from}, {{window.dim}, to}, mesh);
  for (const Halo& halo : found.at(0).shards) {
    halos.left.push_back(halo.left());
    halos.right.push_back(halo.right());
    halos.neighbours.push_back(halo.neighbours);
  }
  return halos;
}

TEST_CASE("halos differ from device to device, and come from as many neighbours as it takes") {
  CHECK(halos_of({{"h", 224}, {"k", 7}, {"y", 112}, 2, 3, 3}, 2) == Halos{{0, 3}, {2, 0}, {1, 1}});
  CHECK(halos_of({{"h", 9}, {"k", 3}, {"y", 5}, 2, 1, 1}, 3) == Halos{{0, 2, 1}, {0, 0, 0}, {0, 1, 1}});
  CHECK(halos_of({{"h", 9}, {"k", 4}, {"y", 5}, 2, 3, 0}, 5).left == std::vector<int64_t>{0, 1, 2, 2, 2});
  CHECK(halos_of({{"h", 8}, {"k", 4}, {"y", 8}, 1, 3, 0}, 8) ==
        Halos{{0, 1, 2, 3, 3, 3, 3, 3}, std::vector<int64_t>(8), {0, 1, 2, 3, 3, 3, 3, 3}});
  CHECK(halos_of({{"h", 7}, {"k", 3}, {"y", 4}, 4, 1, 1, 2}, 2) == Halos{{0, 0}, {0, 0}, {0, 0}});
  CHECK(halos_of({{"h", 7}, {"k", 3}, {"y", 14}, 1, 1, 2, 2}, 2) == Halos{{0, 0}, {1, 0}, {1, 0}});
}

TEST_CASE("the taps of a filter's gradient read the halo that the places read") {
  const Window window = of_taps({{"h", 28}, {"k", 3}, {"y", 28}, 1, 1, 1});
  const Mesh mesh({{"x", 2}});
  const Sharding from{{AxisList{0}}, {}};
  Sharding to = from;
  to.windows = {
      {0, window.taps.size, window.dilation, window.low, (window.to.size - 1) * window.stride + 1, 1}};
  const std::vector<Halo> shards = halos_between({{window.dim}, from}, {{window.dim}, to}, mesh).at(0).shards;
  CHECK(shards[0].right() == 1);
  CHECK(shards[1].left() == 1);
}

TEST_CASE("there is no halo where other axes split the tensor, or none") {
  const Mesh mesh({{"x", 2}, {"y", 2}});
  Sharding to{{AxisList{0}}, {}};
  to.windows = {{0, 8, 1, 1, 3, 1}};
  const Sharding other{{AxisList{1}}, {}};
  CHECK(halos_between({{{"h", 8}}, replicated(1)}, {{{"h", 8}}, to}, mesh).empty());
  CHECK(halos_between({{{"h", 8}}, other}, {{{"h", 8}}, to}, mesh).empty());
}

}  // namespace
}  // namespace mtfc::halos_test
