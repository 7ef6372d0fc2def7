#include "core/compile/min_cut.h"

#include <doctest/doctest.h>

namespace mtfc::min_cut_test {
namespace {

TEST_CASE("the cut takes the cheapest edges, nearest to the source where several are") {
  FlowNetwork chain(4);
  chain.add_edge(0, 1, 5);
  chain.add_edge(1, 2, 3);
  chain.add_edge(2, 3, 3);
  CHECK(chain.source_side(0, 3) == std::vector<bool>{true, true, false, false});

  // Two sources of 4 each merge into one edge of 6, so there is one cut after the merge.
  FlowNetwork merge(6);
  merge.add_edge(0, 1, FlowNetwork::kUnlimited);
  merge.add_edge(0, 2, FlowNetwork::kUnlimited);
  merge.add_edge(1, 3, 4);
  merge.add_edge(2, 3, 4);
  merge.add_edge(3, 4, 6);
  merge.add_edge(4, 5, FlowNetwork::kUnlimited);
  CHECK(merge.source_side(0, 5) == std::vector<bool>{true, true, true, true, false, false});
}

TEST_CASE("flow finds its way back over an edge already used") {
  FlowNetwork network(4);
  network.add_edge(0, 1, 1);
  network.add_edge(0, 2, 1);
  network.add_edge(1, 2, 1);
  network.add_edge(1, 3, 1);
  network.add_edge(2, 3, 1);
  CHECK(network.source_side(0, 3) == std::vector<bool>{true, false, false, false});
}

}  // namespace
}  // namespace mtfc::min_cut_test
