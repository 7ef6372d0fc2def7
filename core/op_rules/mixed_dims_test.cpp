#include "core/op_rules/mixed_dims.h"

#include <doctest/doctest.h>

namespace mtfc::mixed_dims_test {
namespace {

using Names = std::vector<std::string>;

const Dim kBatch{"batch", 6}, kLength{"length", 5}, kHeads{"heads", 4}, kKeys{"d_kv", 3}, kModel{"d", 12},
    kOne{"one", 1};

TEST_CASE("neighbouring dimensions are split and joined") {
  const std::pair<Dims, Dims> kept[] = {
      {{kBatch, kHeads, kKeys}, {kBatch, kModel}},
      {{kBatch, kLength}, {{"tokens", 30}}},
      {{kBatch, kLength, kHeads, kKeys}, {{"tokens", 30}, kModel}},
      {{kBatch, kLength}, {kOne, kBatch, kLength}},
      {{kOne, kBatch}, {kBatch, kOne}},
      {{kBatch, kModel}, {{"half", 3}, {"pairs", 2}, kModel}},
      {{kBatch}, {{"rows", 6}}},
      {{}, {kOne}},
  };
  for (const auto& [from, to] : kept) {
    CAPTURE(to_string(from));
    CHECK(mixed_dims(from, to).names.empty());
    CHECK(mixed_dims(to, from).names.empty());
  }
}

TEST_CASE(
    "a dimension of both sides that does not stay alone is mixed, and an order that keeps it is proposed") {
  const MixedDims exchanged = mixed_dims({kBatch, kLength}, {kLength, kBatch});
  CHECK(exchanged.names == Names{"batch", "length"});
  CHECK(exchanged.order == Names{"length", "batch"});
  const MixedDims joined = mixed_dims({kHeads, kOne, kBatch, kLength, kKeys}, {kBatch, kLength, kModel});
  CHECK(joined.names == Names{"batch", "length"});
  CHECK(joined.order == Names{"batch", "length", "heads", "d_kv", "one"});
  const MixedDims split = mixed_dims({kModel, kBatch}, {kHeads, kBatch, kKeys});
  CHECK(split.names == Names{"batch"});
  CHECK(split.order.empty());  // heads and d_kv stand apart
}

TEST_CASE("dimensions of equal size that change places are mixed as well") {
  const MixedDims mixed = mixed_dims({{"a", 4}, {"b", 4}}, {{"b", 4}, {"a", 4}});
  CHECK(mixed.names == Names{"a", "b"});
  CHECK(mixed.order == Names{"b", "a"});
}

}  // namespace
}  // namespace mtfc::mixed_dims_test
