#include "core/program/ring.h"

#include <doctest/doctest.h>

#include "core/graph/op_registry.h"
#include "core/program/step_check.h"

namespace mtfc::ring_test {
namespace {

const Mesh kLine({{"p", 3}});

// y[m, n] = x[m, k] * w[k, n] of 4, 5 and 6 elements.
struct Product {
  EntryPoint entry;
  Step step;

  Product(const Sharding& x, const Sharding& w, const Sharding& y, Turning turning) {
    const Dims m{{"m", 4}}, k{{"k", 5}}, n{{"n", 6}};
    const auto add = [&](const char* name, const Dims& a, const Dims& b, const Sharding& sharding) {
      return entry.values.add({name, {DType::kF32, unite(a, b)}, sharding});
    };
    step.inputs = {add("x", m, k, x), add("w", k, n, w)};
    step.outputs = {add("y", m, n, y)};
    step.action = RunRing{{&op_named("einsum"), {{"dims", unite(m, n)}}}, {0}, turning};
  }
  Ring ring() const { return {entry, step, kLine}; }
  std::string problem() const { return step_problem(entry, step, kLine, false); }
};

const Sharding kWhole = replicated(2), kRows{{{0}, {}}, {}}, kColumns{{{}, {0}}, {}};

TEST_CASE("slices of an uneven split come from the next members in turn") {
  const Product product(kRows, kRows, kRows, Turning::kSecond);
  const Ring ring = product.ring();
  CHECK(product.problem().empty());
  CHECK(ring.members() == 3);
  CHECK(ring.adds());
  CHECK_FALSE(ring.adds_copies());
  CHECK(ring.slice_owner(1, 0) == 1);
  CHECK(ring.slice_owner(1, 2) == 0);
  // k of 5 elements over 3 devices: 1, 2 and 2.
  const RingTurn turn = ring.turn({2}, 0);
  CHECK(turn.operands[0] == Box{{2, 4}, {0, 1}});
  CHECK(turn.operands[1] == Box{{0, 1}, {0, 6}});
  CHECK(turn.result == Box{{2, 4}, {0, 6}});
  CHECK(turn.slice == Interval{0, 1});
  CHECK(ring.flops({2}) == 2 * 2 * 5 * 6);
  // The member before the one with the smallest slice sends all but that: 2 + 2 rows of 6 elements.
  CHECK(ring.largest_cost() == CollectiveCost{24, 96});
  CHECK(ring.workspace().slices == 2);
  CHECK(ring.workspace().slice_bytes == 64);
}

TEST_CASE("results lie side by side where a free dimension turns") {
  const Product product(kRows, kColumns, kRows, Turning::kSecond);
  const Ring ring = product.ring();
  CHECK(product.problem().empty());
  CHECK_FALSE(ring.adds());
  CHECK(ring.turn({0}, 2).result == Box{{0, 1}, {4, 6}});
  CHECK(ring.turn({0}, 2).operands[0] == Box{{0, 1}, {0, 5}});
}

TEST_CASE("a result that turns ends on its own device") {
  const Product product(kColumns, kRows, kRows, Turning::kResult);
  const Ring ring = product.ring();
  CHECK(product.problem().empty());
  CHECK(ring.passes_result());
  CHECK(ring.slice_owner(1, 0) == 2);
  CHECK(ring.slice_owner(1, 2) == 1);
  CHECK(ring.result_at_once().is_partial(0));
  // m of 4 elements over 3 devices: 1, 1 and 2.
  CHECK(ring.turn({0}, 2).operands[0] == Box{{2, 4}, {0, 1}});
  CHECK(ring.turn({0}, 2).result == Box{{2, 4}, {0, 6}});
  CHECK(ring.largest_cost() == CollectiveCost{18, 72});
}

TEST_CASE("rings that compute something else are found") {
  CHECK(Product(kWhole, kRows, kWhole, Turning::kSecond).problem() ==
        "devices would add up copies of the result in different orders");
  CHECK(Product(kRows, kWhole, kRows, Turning::kSecond).problem() ==
        "'w' is not split over the axes of the ring");
  CHECK(Product(kRows, kRows, kColumns, Turning::kSecond).problem() == "a dimension is split in two ways");
  CHECK(Product(kWhole, kRows, kRows, Turning::kResult).problem() == "a dimension is split in two ways");
  Product same(kRows, kRows, kRows, Turning::kSecond);
  same.step.inputs[0] = same.step.inputs[1];
  CHECK(same.problem() == "the operands of a ring are the same value");
  Product other(kRows, kRows, kRows, Turning::kSecond);
  other.step.as<RunRing>()->product.op = &op_named("add");
  CHECK(other.problem() == "a ring needs an operation that can turn");
  Product outer(kRows, kColumns, kRows, Turning::kSecond);
  outer.entry.values[ValueId(0)].type.dims = {{"m", 4}, {"n", 6}};
  outer.entry.values[ValueId(1)].type.dims = {{"m", 4}, {"n", 6}};
  CHECK(outer.problem() == "a ring contracts a dimension");
  CHECK(step_problem(other.entry, Product(kRows, kRows, kRows, Turning::kSecond).step, Mesh({{"p", 1}}),
                     false) == "a ring has at least two devices");
  CHECK(step_problem(other.entry, Product(kRows, kRows, kRows, Turning::kSecond).step, kLine, true) ==
        "a ring needs a workspace");
  Product axes(kRows, kRows, kRows, Turning::kSecond);
  axes.step.as<RunRing>()->axes = {};
  CHECK(axes.problem() == "the axes of a ring are distinct and in the order of the mesh");
}

}  // namespace
}  // namespace mtfc::ring_test
