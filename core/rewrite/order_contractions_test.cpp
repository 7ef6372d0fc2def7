#include "core/rewrite/order_contractions.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>
#include <random>
#include <set>

#include "core/op_rules/example.h"

namespace mtfc::order_contractions_test {
namespace {

struct Network {
  std::vector<Dims> operands;
  Dims result;
};

double size_of_all(const Dims& dims) {
  double size = 1;
  for (const Dim& dim : dims) size *= static_cast<double>(dim.size);
  return size;
}

/// The multiplications of the pairs that the pass makes.
double chosen(const Network& network) {
  GraphBuilder builder;
  std::vector<TensorId> operands;
  for (const Dims& dims : network.operands)
    operands.push_back(builder.add_input(fmt::format("x{}", operands.size()), {DType::kF32, dims}));
  const TensorId result = builder.op("einsum", operands, {{"dims", network.result}});
  const EntryGraph ordered =
      order_contractions({"evaluate", std::move(builder).build(), {{"result", result}}, {}});
  double work = 0;
  for (const Node& node : ordered.graph.nodes()) {
    if (node.operands.size() < 2) continue;
    CHECK(node.operands.size() == 2);
    work += size_of_all(
        unite(ordered.graph.type(node.operands[0]).dims, ordered.graph.type(node.operands[1]).dims));
  }
  CHECK(ordered.graph.type(ordered.outputs[0].tensor).dims == network.result);
  return work;
}

/// The dimensions of `dims` that another operand or the result has.
Dims needed(const Dims& dims, const std::vector<Dims>& others, const Dims& result) {
  Dims outside = result;
  for (const Dims& other : others) outside = unite(outside, other);
  return without(dims, without(dims, outside));
}

/// The fewest multiplications of any order, found by trying all.
double fewest(std::vector<Dims> operands, const Dims& result) {
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<Dims> others = operands;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    operands[i] = needed(operands[i], others, result);
  }
  if (operands.size() == 1) return 0;
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t j = i + 1; j < operands.size(); ++j) {
      std::vector<Dims> rest = operands;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(j));
      rest[i] = unite(operands[i], operands[j]);
      best = std::min(best, size_of_all(rest[i]) + fewest(rest, result));
    }
  return best;
}

/// A network whose operands have one to three of six dimensions, and whose result has some of those.
Network random_network(size_t operands, std::mt19937& random) {
  const Dims all = dims_of("a=2 b=3 c=5 d=7 e=11 f=13");
  Network network;
  Dims present;
  for (size_t i = 0; i < operands; ++i) {
    std::set<size_t> picked;
    for (uint32_t count = 1 + random() % 3; count > 0; --count) picked.insert(random() % all.size());
    network.operands.emplace_back();
    for (const size_t at : picked) network.operands.back().push_back(all[at]);
    present = unite(present, network.operands.back());
  }
  for (const Dim& dim : present)
    if (random() % 3 == 0) network.result.push_back(dim);
  return network;
}

std::string text_of(const Network& network) {
  std::string text;
  for (const Dims& dims : network.operands) text += to_string(dims) + "; ";
  return text + "-> " + to_string(network.result);
}

}  // namespace

TEST_CASE("a chain is multiplied from its cheap end") {
  CHECK(chosen({{dims_of("a=1000 b=100"), dims_of("b=100 c=10"), dims_of("c=10")}, dims_of("a=1000")}) ==
        100 * 10 + 1000 * 100);
  CHECK(chosen({{dims_of("a=2 b=100"), dims_of("b=100 c=1000"), dims_of("c=1000 d=10")},
                dims_of("a=2 d=10")}) == 2 * 100 * 1000 + 2 * 1000 * 10);
}

TEST_CASE("no order of up to six operands takes fewer multiplications") {
  std::mt19937 random(1);
  for (int i = 0; i < 120; ++i) {
    const Network network = random_network(3 + random() % 4, random);
    CAPTURE(text_of(network));
    CHECK(chosen(network) == fewest(network.operands, network.result));
  }
}

TEST_CASE("many operands are paired too") {
  std::mt19937 random(2);
  for (const size_t operands : {10, 14, 15, 20}) {
    const Network network = random_network(operands, random);
    CAPTURE(text_of(network));
    CHECK(chosen(network) > 0);
  }
}

}  // namespace mtfc::order_contractions_test
