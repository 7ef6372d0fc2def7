#include "core/program/collective_kinds.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "core/diagnostics/error.h"

namespace mtfc::collective_kinds_test {
namespace {

constexpr int kRowAxis = 0, kColumnAxis = 1;

// The collective as text: its kind, its axes and, for a reduction, how it combines elements; "" if nothing moves.
std::string between(const Sharding& from, const Sharding& to) {
  const Mesh mesh({{"rows", 2}, {"columns", 3}});
  const Dims dims{{"a", 12}, {"b", 18}};
  const std::optional<Collective> made = collective_between({dims, from, to, mesh});
  if (!made) return "";
  const std::string moved = fmt::format("{} {}", to_string(made->kind), mesh.names(made->axes));
  return reduces(made->kind) ? fmt::format("{} {}", moved, to_string(made->reduce)) : moved;
}

Sharding split(const AxisList& a, const AxisList& b, const std::vector<Partial>& partial = {}) {
  return {{a, b}, partial};
}

TEST_CASE("the first kind that makes a change of a sharding is chosen") {
  const Partial sum{kRowAxis, ReduceKind::kSum}, greatest{kColumnAxis, ReduceKind::kMax};
  CHECK(between(split({}, {}, {sum}), split({}, {})) == "all_reduce rows sum");
  CHECK(between(split({}, {}, {sum}), split({}, {kRowAxis})) == "reduce_scatter rows sum");
  CHECK(between(split({}, {}, {greatest}), split({}, {})) == "all_reduce columns max");
  CHECK(between(split({kRowAxis, kColumnAxis}, {}), split({kRowAxis}, {})) == "all_gather columns");
  CHECK(between(split({kRowAxis, kColumnAxis}, {}), split({kRowAxis}, {kColumnAxis})) ==
        "all_to_all columns");
  CHECK(between(split({kRowAxis}, {}), split({kColumnAxis}, {})) == "exchange rows");
  // Every device has the shard that one other device needs.
  CHECK(between(split({kRowAxis, kColumnAxis}, {}), split({kColumnAxis, kRowAxis}, {})) ==
        "permute rows+columns");
}

TEST_CASE("nothing moves where each device keeps a part of what it holds") {
  CHECK(between(split({}, {}), split({kRowAxis}, {})).empty());
}

TEST_CASE("no kind makes whole what is pending in two ways") {
  const std::vector<Partial> mixed{{kRowAxis, ReduceKind::kSum}, {kColumnAxis, ReduceKind::kMax}};
  CHECK_THROWS_AS(between(split({}, {}, mixed), split({}, {})), InternalError);
}

TEST_CASE("a device of a permute sends one message, of any other kind one or two for each member") {
  CHECK(messages_sent(CollectiveKind::kPermute, 8) == 1);
  CHECK(messages_sent(CollectiveKind::kExchange, 8) == 7);
  CHECK(messages_sent(CollectiveKind::kAllReduce, 8) == 14);
}

TEST_CASE("every kind has a row under its own enumerator") {
  for (const auto& [kind, name] : kEnumNames<CollectiveKind>) CHECK(facts_of(kind).kind == kind);
}

}  // namespace
}  // namespace mtfc::collective_kinds_test
