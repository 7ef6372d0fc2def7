#include "core/tensors/sharding.h"

#include <doctest/doctest.h>

namespace mtfc::sharding_test {
namespace {

TEST_CASE("shards cover a dimension, the last is the largest, and they nest") {
  for (int64_t size : {0, 1, 2, 5, 7, 16, 97})
    for (int64_t major : {1, 2, 3, 5})
      for (int64_t minor : {1, 2, 4}) {
        const int64_t parts = major * minor;
        int64_t at = 0, largest = 0;
        for (int64_t i = 0; i < parts; ++i) {
          const Interval shard = shard_interval(size, parts, i);
          REQUIRE(shard.begin == at);
          at = shard.end;
          largest = std::max(largest, shard.size());
        }
        REQUIRE(at == size);
        REQUIRE(shard_interval(size, parts, parts - 1).size() == largest);
        REQUIRE(largest == (size + parts - 1) / parts);
        for (int64_t i = 0; i < major; ++i) {
          REQUIRE(shard_interval(size, major, i).begin == shard_interval(size, parts, i * minor).begin);
          REQUIRE(shard_interval(size, major, i).end == shard_interval(size, parts, (i + 1) * minor - 1).end);
        }
      }
}

TEST_CASE("shards of a dimension near 2^62 do not overflow") {
  const int64_t size = int64_t{1} << 62;
  CHECK(shard_interval(size, 4096, 4095).end == size);
  CHECK(shard_interval(size, 4096, 1).size() == size / 4096);
}

TEST_CASE("what windows read covers a split if every device reads all of its own shard") {
  int covering = 0, lacking = 0;
  for (const int64_t size : {1, 4, 7, 9})
    for (const int64_t places : {1, 4, 5, 9})
      for (const int64_t span : {1, 3, 9})
        for (const int64_t low : {-2, 0, 1, 6})
          for (int64_t parts = 1; parts <= 5; ++parts) {
            const Mesh mesh({{"rows", parts}});
            const Dims dims{{"n", size}};
            const Sharding wanted{{{0}}, {}}, held{{{0}}, {}, {{0, places, 2, low, span, 1}}};
            bool expected = true;
            for (int64_t rank = 0; rank < parts; ++rank) {
              const Interval own = local_box(dims, wanted, mesh, {rank})[0];
              const Interval read = local_box(dims, held, mesh, {rank})[0];
              expected = expected && (own.size() == 0 || (read.begin <= own.begin && own.end <= read.end));
            }
            (expected ? covering : lacking) += 1;
            REQUIRE(covers(dims, held, wanted, mesh) == expected);
          }
  CHECK(covering > 50);
  CHECK(lacking > 50);
}

TEST_CASE("a device's box follows its coordinates, major axis first") {
  const Mesh mesh({{"rows", 2}, {"cols", 2}});
  const Dims dims{{"n", 5}, {"m", 3}};
  CHECK(local_box(dims, {{{0, 1}, {}}, {}}, mesh, {1, 0}) == Box{{2, 3}, {0, 3}});
  CHECK(local_box(dims, {{{1, 0}, {}}, {}}, mesh, {1, 0}) == Box{{1, 2}, {0, 3}});
  CHECK(local_box(dims, {{{}, {0}}, {}}, mesh, {0, 1}) == Box{{0, 5}, {0, 1}});
  CHECK(to_string(dims, {{{0, 1}, {}}, {}}, mesh) == "n/rows+cols, m");
}

}  // namespace
}  // namespace mtfc::sharding_test
