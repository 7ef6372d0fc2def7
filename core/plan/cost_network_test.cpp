#include "core/plan/cost_network.h"

#include <doctest/doctest.h>

#include <random>

namespace mtfc {
namespace {

struct RandomNetwork {
  CostNetwork network;
  std::vector<size_t> sizes;  // of the variables' domains
};

// A network with random costs, some of them impossible; to take the first value of every variable is possible.
RandomNetwork random_network(std::mt19937& random, int variables, int pairs) {
  CostNetwork network;
  std::vector<size_t> sizes;
  const auto cost = [&] {
    if (random() % 6 == 0) return PlanCost::impossible();
    return PlanCost{static_cast<int64_t>(random() % 7), static_cast<int64_t>(random() % 3), 0};
  };
  for (int v = 0; v < variables; ++v) {
    sizes.push_back(1 + random() % 4);
    std::vector<PlanCost> costs(sizes.back());
    for (size_t value = 1; value < costs.size(); ++value) costs[value] = cost();
    network.add_variable(costs);
  }
  for (int p = 0; p < pairs; ++p) {
    const int a = static_cast<int>(random() % static_cast<unsigned>(variables));
    const int b = static_cast<int>(random() % static_cast<unsigned>(variables));
    auto costs = std::make_shared<PairCosts>(sizes[static_cast<size_t>(a)], sizes[static_cast<size_t>(b)]);
    for (size_t i = 0; i < costs->rows(); ++i)
      for (size_t j = 0; j < costs->columns(); ++j)
        costs->at(i, j) = i == 0 && j == 0 ? PlanCost{9, 0, 0} : cost();
    network.add_pair(a, b, costs, 1 + static_cast<int64_t>(random() % 3));
  }
  return {std::move(network), std::move(sizes)};
}

PlanCost least(const CostNetwork& network, const std::vector<size_t>& sizes) {
  std::vector<int> values(sizes.size(), 0);
  PlanCost best = PlanCost::impossible();
  while (true) {
    best = std::min(best, network.cost_of(values));
    size_t v = 0;
    while (v < values.size() && ++values[v] == static_cast<int>(sizes[v])) values[v++] = 0;
    if (v == values.size()) return best;
  }
}

}  // namespace

TEST_CASE("the solution of a network costs no more than any other choice") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 3000; ++trial) {
    const int variables = 1 + static_cast<int>(random() % 6);
    const auto [network, sizes] = random_network(random, variables, static_cast<int>(random() % 9));
    const PlanCost best = least(network, sizes);
    const NetworkSolution exact = network.solve();
    CHECK(exact.cost == best);
    CHECK(exact.bound == best);
    CHECK(network.cost_of(exact.values) == best);
    const NetworkSolution rough = network.solve(4);
    CHECK(rough.bound <= best);
    CHECK(rough.cost >= best);
  }
}

TEST_CASE("of equal choices, the first is taken") {
  CostNetwork network;
  for (int v = 0; v < 3; ++v) network.add_variable({{1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 1, 0}});
  CHECK(network.solve().values == std::vector<int>{2, 2, 2});
}

}  // namespace mtfc
