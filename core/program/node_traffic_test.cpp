#include "core/program/node_traffic.h"

#include <doctest/doctest.h>

#include "core/testing/steps_by_hand.h"

namespace mtfc::node_traffic_test {
namespace {

const Mesh kFour({{"p", 4}});
const NodesOfRanks kPairs = consecutive_nodes(4, 2);
const Sharding kWhole = replicated(2), kRows{{{0}, {}}, {}}, kColumns{{{}, {0}}, {}};

Sharding partial() {
  Sharding sum = kWhole;
  sum.partial = {{0, ReduceKind::kSum}};
  return sum;
}

// A collective over axis 0 that makes this change to a matrix of f32.
EntryPoint entry_of(CollectiveKind kind, const Dims& dims, const Sharding& from, const Sharding& to) {
  EntryPoint entry;
  entry.values.add({"x", {DType::kF32, dims}, from, kNoBuffer});
  entry.values.add({"y", {DType::kF32, dims}, to, kNoBuffer});
  const Step start = start_step({kind, {0}, ReduceKind::kSum}, 0, 1);
  entry.steps = {start, wait_step(start, 0)};
  return entry;
}

using Bytes = std::vector<int64_t>;

TEST_CASE("each element crosses to another node once") {
  const Dims dims = {{"a", 8}, {"b", 4}};
  const auto sent = [&](CollectiveKind kind, const Sharding& from, const Sharding& to) {
    return bytes_between_nodes(entry_of(kind, dims, from, to), kFour, kPairs);
  };
  // Each node sends half of its 32 sums, and then the half that it has added up.
  CHECK(sent(CollectiveKind::kAllReduce, partial(), kWhole) == Bytes{128, 128});
  CHECK(sent(CollectiveKind::kReduceScatter, partial(), kRows) == Bytes{64, 64});
  CHECK(sent(CollectiveKind::kAllGather, kRows, kWhole) == Bytes{64, 64});
  // Each device keeps a quarter of its 8 elements, and sends another quarter to its neighbour.
  CHECK(sent(CollectiveKind::kAllToAll, kRows, kColumns) == Bytes{32, 32});
}

TEST_CASE("uneven shards and nodes") {
  const Dims dims = {{"a", 5}, {"b", 1}};
  const NodesOfRanks nodes = consecutive_nodes(4, 3);
  REQUIRE(nodes == NodesOfRanks{0, 0, 0, 1});
  // Shards of 1, 1, 1 and 2 elements.
  CHECK(bytes_between_nodes(entry_of(CollectiveKind::kAllGather, dims, kRows, kWhole), kFour, nodes) ==
        Bytes{12, 8});
  CHECK(bytes_between_nodes(entry_of(CollectiveKind::kReduceScatter, dims, partial(), kRows), kFour, nodes) ==
        Bytes{8, 12});
  // Pieces of 3 and 2 elements: one node sends 2 and gets 3, then it sends its sum of the 3.
  CHECK(bytes_between_nodes(entry_of(CollectiveKind::kAllReduce, dims, partial(), kWhole), kFour, nodes) ==
        Bytes{20, 20});
}

TEST_CASE("groups inside nodes send nothing to others") {
  const Mesh mesh({{"cols", 2}, {"rows", 2}});  // the collective is over cols
  const EntryPoint entry = entry_of(CollectiveKind::kAllReduce, {{"a", 8}, {"b", 4}}, partial(), kWhole);
  CHECK(bytes_between_nodes(entry, mesh, numbered_nodes({0, 1, 0, 1})) == Bytes{0, 0});
  // Two groups of one device on each node.
  CHECK(bytes_between_nodes(entry, mesh, kPairs) == Bytes{256, 256});
}

TEST_CASE("nodes are numbered in the order of their first ranks") {
  CHECK(numbered_nodes({4, 4, 0, 9, 0}) == NodesOfRanks{0, 0, 1, 2, 1});
}

}  // namespace
}  // namespace mtfc::node_traffic_test
