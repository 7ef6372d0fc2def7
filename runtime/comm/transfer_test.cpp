#include "runtime/comm/transfer.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"
#include "runtime/testing/collective_cases.h"

namespace mtfc::transfer_test {
namespace {

CollectivePlan plan(const CollectiveCase& c, int64_t rank) {
  const EntryPoint entry = collective_entry(c);
  return plan_collective(entry, entry.steps[0], c.mesh, c.mesh.coordinates(rank));
}

const Mesh kThree({{"p", 3}});
const TensorType kFive{DType::kF32, {{"a", 5}}};

TEST_CASE("an all_gather takes every member's part to its place") {
  const CollectivePlan p =
      plan({"", kThree, CollectiveKind::kAllGather, {0}, kFive, {{{0}}, {}}, kFive, replicated(1)}, 1);
  CHECK(p.ranks == std::vector<int64_t>{0, 1, 2});
  CHECK(p.self == 1);
  REQUIRE(p.receives.size() == 3);
  CHECK(p.receives[0][0].to == 0);
  CHECK(p.receives[1][0].to == 1);
  CHECK(p.receives[2][0].to == 3);
  CHECK(p.receives[2][0].length == 2);
  CHECK(moved_by(p) == CollectiveCost{5, (5 - 1) * 4});
}

TEST_CASE("counts follow the definitions on uneven shards") {
  Sharding sum = replicated(1);
  sum.partial = {{0, ReduceKind::kSum}};
  const CollectiveCost all_reduce =
      moved_by(plan({"", kThree, CollectiveKind::kAllReduce, {0}, kFive, sum, kFive, replicated(1)}, 0));
  CHECK(all_reduce.elements == 5);
  CHECK(all_reduce.bytes_sent == 2 * (5 - 1) * 4);
  const CollectiveCost scatter =
      moved_by(plan({"", kThree, CollectiveKind::kReduceScatter, {0}, kFive, sum, kFive, {{{0}}, {}}}, 0));
  CHECK(scatter.elements == 5);
  CHECK(scatter.bytes_sent == (5 - 1) * 4);
  const TensorType matrix{DType::kF64, {{"a", 4}, {"b", 3}}};
  const Mesh two({{"p", 2}});
  const CollectiveCase turn{
      "", two, CollectiveKind::kExchange, {0}, matrix, {{{0}, {}}, {}}, matrix, {{{}, {0}}, {}}};
  CHECK(moved_by(plan(turn, 0)).elements == 4);  // two rows, columns 1 and 2
  CHECK(moved_by(plan(turn, 0)).bytes_sent == 32);
  CHECK(moved_by(plan(turn, 1)).elements == 2);
  CollectiveCase joint = turn;
  joint.kind = CollectiveKind::kAllToAll;
  CHECK(moved_by(plan(joint, 0)).elements == 6);  // the whole input
  CHECK(moved_by(plan(joint, 0)).bytes_sent == 32);
}

TEST_CASE("elements come from the nearest replica") {
  const Mesh mesh({{"r", 2}, {"c", 2}});
  const TensorType type{DType::kF32, {{"a", 4}}};
  const CollectivePlan p =
      plan({"", mesh, CollectiveKind::kExchange, {0, 1}, type, {{{0}}, {}}, type, {{{1, 0}}, {}}}, 3);
  CHECK(p.axes == AxisList{0});
  CHECK(p.ranks == std::vector<int64_t>{1, 3});
}

TEST_CASE("a step whose output nobody holds is refused") {
  const CollectiveCase c{"",    kThree,       CollectiveKind::kAllGather, {}, kFive, {{{0}}, {}},
                         kFive, replicated(1)};
  CHECK_THROWS_AS(plan(c, 0), InternalError);
  const Place half{kFive, {{0, 2}}, 0}, whole{kFive, {{0, 5}}, 0};
  CHECK_THROWS_AS(plan_slice(half, whole), InternalError);
  CHECK(plan_slice(whole, half).size() == 1);
}

}  // namespace
}  // namespace mtfc::transfer_test
