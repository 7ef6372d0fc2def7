#include "core/program/reshard.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

namespace mtfc::reshard_test {
namespace {

constexpr int kRows = 0, kColumns = 1;
const Mesh kMesh({{"rows", 2}, {"columns", 3}});
const Dims kDims{{"a", 12}, {"b", 18}};

// The moves as text, such as "slice [a/rows, b], all_gather rows [a, b]".
std::string moves(const Sharding& from, const Sharding& to, ReshardWay way = ReshardWay::kFewestBytes) {
  std::string text;
  for (const Move& move : plan_reshard(kDims, from, to, kMesh, way)) {
    const std::string kind = move.collective ? fmt::format("{} {}", to_string(move.collective->kind),
                                                           kMesh.names(move.collective->axes))
                                             : "slice";
    text += fmt::format("{}{} [{}]", text.empty() ? "" : ", ", kind, to_string(kDims, move.to, kMesh));
  }
  return text;
}

Sharding split(const AxisList& a, const AxisList& b = {}, const std::vector<Partial>& partial = {}) {
  return {{a, b}, partial};
}

const Partial kRowSum{kRows, ReduceKind::kSum}, kColumnSum{kColumns, ReduceKind::kSum};

TEST_CASE("a partial sum becomes whole by an all_reduce") {
  CHECK(moves(split({}, {}, {kRowSum}), split({})) == "all_reduce rows [a, b]");
  CHECK(moves(split({kRows}, {}, {kColumnSum}), split({kRows})) == "all_reduce columns [a/rows, b]");
  CHECK(moves(split({}, {}, {kRowSum, kColumnSum}), split({})) == "all_reduce rows+columns [a, b]");
}

TEST_CASE("a partial sum over a large axis is reduced in slices over an axis over which it is repeated") {
  // An all_reduce of n elements over columns sends 4/3 n. A device has to send 1/3 n of a half, and to receive 5/6 n.
  CHECK(moves(split({}, {}, {kColumnSum}), split({})) ==
        "slice [a/rows, b, sum over columns], reduce_scatter columns [a/rows+columns, b], "
        "all_gather rows+columns [a, b]");
  CHECK(moves(split({}, {}, {kColumnSum}), split({kColumns})) ==
        "slice [a, b/rows, sum over columns], reduce_scatter columns [a/columns, b/rows], "
        "all_gather rows [a/columns, b]");
}

TEST_CASE("the direct way has fewer collectives, where others would send fewer bytes") {
  const auto direct = [](const Sharding& from, const Sharding& to) {
    return moves(from, to, ReshardWay::kDirect);
  };
  CHECK(direct(split({}, {}, {kColumnSum}), split({})) == "all_reduce columns [a, b]");
  CHECK(direct(split({}, {}, {kColumnSum}), split({kColumns})) == "reduce_scatter columns [a/columns, b]");
  CHECK(direct(split({kRows}), split({})) == "all_gather rows [a, b]");
}

TEST_CASE("a partial sum that is to be split over its axis is reduced by a reduce_scatter") {
  CHECK(moves(split({}, {}, {kRowSum}), split({kRows})) == "reduce_scatter rows [a/rows, b]");
  CHECK(moves(split({kRows}, {}, {kColumnSum}), split({kRows, kColumns})) ==
        "reduce_scatter columns [a/rows+columns, b]");
  CHECK(moves(split({}, {}, {kRowSum, kColumnSum}), split({kRows, kColumns})) ==
        "reduce_scatter rows+columns [a/rows+columns, b]");
}

TEST_CASE("an axis over which nothing is partial is split before a reduction, so that less is reduced") {
  CHECK(moves(split({}, {}, {kColumnSum}), split({kRows, kColumns})) ==
        "slice [a/rows, b, sum over columns], reduce_scatter columns [a/rows+columns, b]");
  CHECK(moves(split({}, {}, {kColumnSum}), split({kRows})) ==
        "slice [a/rows, b, sum over columns], all_reduce columns [a/rows, b]");
}

TEST_CASE("a reduce_scatter appends its axis, and another order needs a permute") {
  CHECK(moves(split({kColumns}, {}, {kRowSum}), split({kRows, kColumns})) ==
        "reduce_scatter rows [a/columns+rows, b], permute rows+columns [a/rows+columns, b]");
}

TEST_CASE("axes that need different reductions are reduced one after another") {
  CHECK(moves(split({}, {}, {kRowSum, kColumnSum}), split({kRows})) ==
        "reduce_scatter rows [a/rows, b, sum over columns], all_reduce columns [a/rows, b]");
  const Partial greatest{kColumns, ReduceKind::kMax};
  CHECK(moves(split({}, {}, {kRowSum, greatest}), split({})) ==
        "reduce_scatter columns [a/columns, b, sum over rows], reduce_scatter rows [a/columns, b/rows], "
        "all_gather rows+columns [a, b]");  // the other order sends as many elements
}

TEST_CASE("what is split already is gathered after the slices") {
  CHECK(moves(split({kRows}), split({}, {kColumns})) ==
        "slice [a/rows, b/columns], all_gather rows [a, b/columns]");
  CHECK(moves(split({kRows}), split({kRows})).empty());
}

TEST_CASE("the cost of a plan is that of its moves together") {
  const TensorType type{DType::kF32, kDims};
  const int64_t bytes = 12 * 18 * 4;
  CHECK(reshard_cost(type, split({kRows}), split({}), kMesh) == MoveCost{bytes - bytes / 2, 1});
  CHECK(reshard_cost(type, split({}), split({kRows}), kMesh) == MoveCost{0, 0});
  CHECK(reshard_cost(type, split({}, {}, {kRowSum}), split({}), kMesh) ==
        MoveCost{2 * (bytes - bytes / 2), 1});
}

}  // namespace
}  // namespace mtfc::reshard_test
