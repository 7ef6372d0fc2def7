#include "core/program/collective_kinds.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"

namespace mtfc::collective_kinds_test {
namespace {

constexpr int kRowAxis = 0, kColumnAxis = 1;

std::optional<Collective> between(const Sharding& from, const Sharding& to) {
  const Mesh mesh({{"rows", 2}, {"columns", 3}});
  const Dims dims{{"a", 12}, {"b", 18}};
  return collective_between({dims, from, to, mesh});
}

Sharding split(const AxisList& a, const AxisList& b, const std::vector<Partial>& partial = {}) {
  return {{a, b}, partial};
}

TEST_CASE("the first kind that makes a change of a sharding is chosen") {
  using Kind = CollectiveKind;
  const Partial sum{kRowAxis, ReduceKind::kSum}, greatest{kColumnAxis, ReduceKind::kMax};
  CHECK(between(split({}, {}, {sum}), split({}, {})) == Collective{Kind::kAllReduce, {kRowAxis}});
  CHECK(between(split({}, {}, {sum}), split({}, {kRowAxis})) == Collective{Kind::kReduceScatter, {kRowAxis}});
  CHECK(between(split({}, {}, {greatest}), split({}, {})) ==
        Collective{Kind::kAllReduce, {kColumnAxis}, ReduceKind::kMax});
  CHECK(between(split({kRowAxis, kColumnAxis}, {}), split({kRowAxis}, {})) ==
        Collective{Kind::kAllGather, {kColumnAxis}});
  CHECK(between(split({kRowAxis, kColumnAxis}, {}), split({kRowAxis}, {kColumnAxis})) ==
        Collective{Kind::kAllToAll, {kColumnAxis}});
  CHECK(between(split({kRowAxis, kColumnAxis}, {}), split({kColumnAxis, kRowAxis}, {})) ==
        Collective{Kind::kExchange, {kRowAxis, kColumnAxis}});
}

TEST_CASE("nothing moves where each device keeps a part of what it holds") {
  CHECK(between(split({}, {}), split({kRowAxis}, {})) == std::nullopt);
}

TEST_CASE("no kind makes whole what is pending in two ways") {
  const std::vector<Partial> mixed{{kRowAxis, ReduceKind::kSum}, {kColumnAxis, ReduceKind::kMax}};
  CHECK_THROWS_AS(between(split({}, {}, mixed), split({}, {})), InternalError);
}

TEST_CASE("every kind has a row under its own enumerator") {
  for (const auto& [kind, name] : kEnumNames<CollectiveKind>) CHECK(facts_of(kind).kind == kind);
}

}  // namespace
}  // namespace mtfc::collective_kinds_test
