#include "core/tensors/shard_grid.h"

#include <doctest/doctest.h>

#include <set>

namespace mtfc::shard_grid_test {

// The elements that a rank holds, by the grid and by local_box(), must be the same for every rank.
void check_ranks(const Dims& dims, const Sharding& sharding, const Mesh& mesh) {
  const ShardGrid grid(dims, sharding, mesh);
  std::multiset<int64_t> ranks;
  for (int64_t row = 0; row < grid.down().shards; ++row)
    for (int64_t column = 0; column < grid.across().shards; ++column)
      for (int64_t holder = 0; holder < grid.holders(); ++holder) {
        const int64_t rank = grid.rank(row, column, holder);
        ranks.insert(rank);
        const Box box = local_box(dims, sharding, mesh, mesh.coordinates(rank));
        for (const auto& [side, index] : {std::pair(&grid.down(), row), std::pair(&grid.across(), column)}) {
          const std::vector<Interval> held = grid.held(*side, index);
          for (size_t i = 0; i < held.size(); ++i) CHECK(held[i] == box[side->dims[i]]);
        }
      }
  for (int64_t rank = 0; rank < mesh.devices(); ++rank) CHECK(ranks.count(rank) == 1);
}

TEST_CASE("each rank is in the cell of the shard that it holds") {
  const Mesh mesh({{"rows", 2}, {"cols", 3}, {"planes", 2}});
  const Mesh ordered({{"rows", 2}, {"cols", 2}}, {0, 2, 1, 3});
  const Dims dims = {{"batch", 5}, {"io", 7}, {"hidden", 2}};
  check_ranks(dims, {{{0}, {}, {1}}, {}}, mesh);
  check_ranks(dims, {{{2, 0}, {1}, {}}, {}}, mesh);
  check_ranks(dims, {{{}, {}, {1, 2}}, {}}, mesh);
  check_ranks(dims, {{{0}, {1}, {2}}, {}}, mesh);
  check_ranks(dims, replicated(3), mesh);
  check_ranks({}, replicated(0), mesh);
  check_ranks(dims, {{{0}, {}, {1}}, {}}, ordered);
}

TEST_CASE("the first split dimension runs down, unless it is the last of the tensor") {
  const Mesh mesh({{"rows", 2}, {"cols", 2}});
  const Dims dims = {{"batch", 4}, {"hidden", 8}};
  const ShardGrid both(dims, {{{0}, {1}}, {}}, mesh);
  CHECK(both.down().dims == std::vector<size_t>{0});
  CHECK(both.across().dims == std::vector<size_t>{1});
  CHECK(both.held(both.across(), 1) == std::vector<Interval>{{4, 8}});
  CHECK(both.rank(1, 0, 0) == 2);
  const ShardGrid last(dims, {{{}, {1}}, {}}, mesh);
  CHECK(last.down().dims.empty());
  CHECK(last.across().dims == std::vector<size_t>{1});
  CHECK(last.holders() == 2);
}

TEST_CASE("a long side is drawn with a gap") {
  CHECK(drawn_shards(3, 4) == std::vector<int64_t>{0, 1, 2});
  CHECK(drawn_shards(4, 4) == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(drawn_shards(512, 4) == std::vector<int64_t>{0, 1, -1, 511});
}

}  // namespace mtfc::shard_grid_test
