#include "core/program/reshard_groups.h"

#include <doctest/doctest.h>

namespace mtfc::reshard_groups_test {
namespace {

const Mesh kLine({{"p", 4}});

// An all_reduce of the layer's tensor `y`, for an operation of the same layer and for another one.
ReshardStep sum_of_layer(int layer, int64_t bytes) {
  const std::string block = "layer_" + std::to_string(layer);
  ReshardStep made;
  made.step = StepIndex(10 - layer);
  made.tensor = block + "/y";
  made.collective = {CollectiveKind::kAllReduce, {0}};
  made.from = made.to = {{{"b", 16}}, replicated(1)};
  made.maker = {block + "/y", "einsum", "", {}};
  made.readers = {{block + "/z", "relu", "", {}}, {block + "/other", "exp", "", {}}};
  made.bytes = bytes;
  made.runs = 3;
  return made;
}

TEST_CASE("collectives that differ only in the number of a block are a group, the largest sum first") {
  ReshardStep alone = sum_of_layer(7, 100);
  alone.readers.pop_back();  // is read by fewer operations
  const std::vector<ReshardStep> all = {sum_of_layer(2, 10), alone, sum_of_layer(1, 10), sum_of_layer(0, 90),
                                        sum_of_layer(3, 10)};
  const std::vector<CollectiveGroup> groups = collective_groups(all, kLine);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].members == std::vector<const ReshardStep*>{&all[1]});
  CHECK(groups[1].members == std::vector<const ReshardStep*>{&all[3]});  // sends more than the other layers
  CHECK(groups[2].members == std::vector<const ReshardStep*>{&all[0], &all[2], &all[4]});
  CHECK(groups[0].bytes == 300);
  CHECK(groups[1].bytes == 270);
  CHECK(groups[2].bytes == 90);
}

TEST_CASE("a group is shown as its first collective, with the names of all as one") {
  const std::vector<ReshardStep> all = {sum_of_layer(2, 10), sum_of_layer(1, 10), sum_of_layer(0, 10)};
  const ReshardStep shown = folded(collective_groups(all, kLine).front());
  CHECK(shown.step == StepIndex(8));
  CHECK(shown.tensor == "layer_{0..2}/y");
  REQUIRE(shown.readers.size() == 2);
  CHECK(shown.readers.front().name == "layer_{0..2}/z");
}

TEST_CASE("a collective that nothing waits for is shown without an operation") {
  std::vector<ReshardStep> all = {sum_of_layer(0, 10)};
  all.front().readers.clear();
  const ReshardStep shown = folded(collective_groups(all, kLine).front());
  CHECK(shown.tensor == "layer_0/y");
  CHECK(shown.readers.empty());
}

}  // namespace
}  // namespace mtfc::reshard_groups_test
