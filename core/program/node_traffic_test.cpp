#include "core/program/node_traffic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "core/diagnostics/stop.h"
#include "core/tensors/residues.h"
#include "core/testing/steps_by_hand.h"

namespace mtfc::node_traffic_test {
namespace {

const Mesh kFour({{"p", 4}});
const NodesOfRanks kPairs = consecutive_nodes(4, 2);
const Sharding kWhole = replicated(2), kRows{{{0}, {}}, {}}, kColumns{{{}, {0}}, {}};

Sharding partial() {
  Sharding sum = kWhole;
  sum.partial = {{0, ReduceKind::kSum}};
  return sum;
}

// A collective over axis 0 that makes this change to a matrix of f32.
EntryPoint entry_of(CollectiveKind kind, const Dims& dims, const Sharding& from, const Sharding& to) {
  EntryPoint entry;
  entry.values.add({"x", {DType::kF32, dims}, from, kNoBuffer});
  entry.values.add({"y", {DType::kF32, dims}, to, kNoBuffer});
  const Step start = start_step({kind, {0}, ReduceKind::kSum}, 0, 1);
  entry.steps = {start, wait_step(start, 0)};
  return entry;
}

using Bytes = std::vector<int64_t>;

TEST_CASE("each element crosses to another node once") {
  const Dims dims = {{"a", 8}, {"b", 4}};
  const auto sent = [&](CollectiveKind kind, const Sharding& from, const Sharding& to) {
    return bytes_between_nodes(entry_of(kind, dims, from, to), kFour, kPairs);
  };
  // Each node sends half of its 32 sums, and then the half that it has added up.
  CHECK(sent(CollectiveKind::kAllReduce, partial(), kWhole) == Bytes{128, 128});
  CHECK(sent(CollectiveKind::kReduceScatter, partial(), kRows) == Bytes{64, 64});
  CHECK(sent(CollectiveKind::kAllGather, kRows, kWhole) == Bytes{64, 64});
  // Each device keeps a quarter of its 8 elements, and sends another quarter to its neighbour.
  CHECK(sent(CollectiveKind::kAllToAll, kRows, kColumns) == Bytes{32, 32});
}

TEST_CASE("uneven shards and nodes") {
  const Dims dims = {{"a", 5}, {"b", 1}};
  const NodesOfRanks nodes = consecutive_nodes(4, 3);
  REQUIRE(nodes == NodesOfRanks{0, 0, 0, 1});
  // Shards of 1, 1, 1 and 2 elements.
  CHECK(bytes_between_nodes(entry_of(CollectiveKind::kAllGather, dims, kRows, kWhole), kFour, nodes) ==
        Bytes{12, 8});
  CHECK(bytes_between_nodes(entry_of(CollectiveKind::kReduceScatter, dims, partial(), kRows), kFour, nodes) ==
        Bytes{8, 12});
  // Pieces of 3 and 2 elements: one node sends 2 and gets 3, then it sends its sum of the 3.
  CHECK(bytes_between_nodes(entry_of(CollectiveKind::kAllReduce, dims, partial(), kWhole), kFour, nodes) ==
        Bytes{20, 20});
}

TEST_CASE("groups inside nodes send nothing to others") {
  const Mesh mesh({{"cols", 2}, {"rows", 2}});  // the collective is over cols
  const EntryPoint entry = entry_of(CollectiveKind::kAllReduce, {{"a", 8}, {"b", 4}}, partial(), kWhole);
  CHECK(bytes_between_nodes(entry, mesh, numbered_nodes({0, 1, 0, 1})) == Bytes{0, 0});
  // Two groups of one device on each node.
  CHECK(bytes_between_nodes(entry, mesh, kPairs) == Bytes{256, 256});
}

// `count` dimensions with a product of `elements` in all.
Dims random_shape(int64_t elements, size_t count, std::mt19937& random) {
  Dims dims;
  for (size_t d = 0; d < count; ++d) dims.push_back({std::string(1, static_cast<char>('a' + d)), 1});
  for (int64_t factor = 2; elements > 1; ++factor) {
    if (factor * factor > elements) factor = elements;
    for (; elements % factor == 0; elements /= factor) dims[random() % count].size *= factor;
  }
  return dims;
}

Sharding random_sharding(size_t dims, int axes, std::mt19937& random) {
  Sharding sharding = replicated(dims);
  std::vector<int> order;
  for (int axis = 0; axis < axes; ++axis) order.push_back(axis);
  std::shuffle(order.begin(), order.end(), random);
  for (const int axis : order)
    if (random() % 8 > 0) sharding.dims[random() % dims].push_back(axis);
  return sharding;
}

// A reshape that every device takes part in.
EntryPoint random_reshape(int64_t elements, int axes, std::mt19937& random) {
  const Dims from = random_shape(elements, 1 + random() % 4, random),
             to = random_shape(elements, 1 + random() % 4, random);
  EntryPoint entry;
  entry.values.add({"x", {DType::kF32, from}, random_sharding(from.size(), axes, random), kNoBuffer});
  entry.values.add({"y", {DType::kF32, to}, random_sharding(to.size(), axes, random), kNoBuffer});
  AxisList all;
  for (int axis = 0; axis < axes; ++axis) all.push_back(axis);
  const Step start = start_step({CollectiveKind::kExchange, all, ReduceKind::kSum}, 0, 1);
  entry.steps = {start, wait_step(start, 0)};
  return entry;
}

// The device that holds each element of a value, of those that have 0 on the axes that do not split it.
std::vector<std::vector<int64_t>> holders(const Value& value, const Mesh& mesh) {
  std::vector<std::vector<int64_t>> ranks(static_cast<size_t>(elements(value.type.dims)));
  for (int64_t rank = 0; rank < mesh.devices(); ++rank) {
    const Box box = local_box(value.type.dims, value.sharding, mesh, mesh.coordinates(rank));
    for (size_t index = 0; index < ranks.size(); ++index) {
      auto rest = static_cast<int64_t>(index);
      bool is_held = true;
      for (size_t d = box.size(); d-- > 0; rest /= value.type.dims[d].size)
        is_held = is_held && rest % value.type.dims[d].size >= box[d].begin &&
                  rest % value.type.dims[d].size < box[d].end;
      if (is_held) ranks[index].push_back(rank);
    }
  }
  return ranks;
}

TEST_CASE("a reshape sends each element to every device of another node that needs it, and has it not") {
  std::mt19937 random(1);
  const Mesh meshes[] = {Mesh({{"p", 2}, {"q", 3}}), Mesh({{"p", 6}}), Mesh({{"p", 3}, {"q", 2}, {"r", 2}})};
  for (int round = 0; round < 300; ++round) {
    const Mesh& mesh = meshes[round % 3];
    const auto axes = static_cast<int>(mesh.axes().size());
    const EntryPoint entry = random_reshape(1 + static_cast<int64_t>(random() % 300), axes, random);
    const Value &from = entry.values[ValueId(0)], &to = entry.values[ValueId(1)];
    const NodesOfRanks nodes = consecutive_nodes(mesh.devices(), 1 + static_cast<int64_t>(random() % 4));
    Bytes expected(static_cast<size_t>(nodes.back()) + 1);
    const auto held = holders(from, mesh), needed = holders(to, mesh);
    const AxisList split = split_axes(from.sharding);
    for (size_t index = 0; index < held.size(); ++index)
      for (const int64_t source : held[index])
        for (const int64_t target : needed[index]) {
          // Among copies of an element, a device takes the one of the device that differs on split axes alone.
          const Coordinates a = mesh.coordinates(source), b = mesh.coordinates(target);
          bool takes = true;
          for (int axis = 0; axis < axes; ++axis)
            takes = takes &&
                    (contains(split, axis) || a[static_cast<size_t>(axis)] == b[static_cast<size_t>(axis)]);
          const int node = nodes[static_cast<size_t>(source)];
          if (takes && node != nodes[static_cast<size_t>(target)]) expected[static_cast<size_t>(node)] += 4;
        }
    CAPTURE(round);
    CAPTURE(to_string(from.type) + to_string(to.type));
    REQUIRE(bytes_between_nodes(entry, mesh, nodes) == expected);
  }
}

TEST_CASE("the work for a reshape does not grow with its elements") {
  std::mt19937 random(1);
  const Mesh mesh({{"dp", 8}, {"tp", 8}});
  const NodesOfRanks nodes = consecutive_nodes(64, 8);
  for (const int64_t elements : {int64_t{720}, int64_t{735134400}, int64_t{6469693230}, int64_t{999950884}})
    for (int round = 0; round < 50; ++round) {
      const EntryPoint entry = random_reshape(elements, 2, random);
      CAPTURE(to_string(entry.values[ValueId(0)].type) + to_string(entry.values[ValueId(1)].type));
      const int64_t before = ranges_counted();
      bytes_between_nodes(entry, mesh, nodes);
      CHECK(ranges_counted() - before < 5000);
    }
}

TEST_CASE("collectives of equal layers are counted once") {
  const Dims dims = {{"a", 9}, {"b", 4}};
  EntryPoint entry = entry_of(CollectiveKind::kAllToAll, dims, kRows, kColumns);
  int64_t looks = 0;
  const std::function<bool()> looked = [&] { return ++looks < 0; };
  const StopScope scope(looked);
  const auto sent = [&] {
    looks = 0;
    return bytes_between_nodes(entry, kFour, kPairs);
  };
  const Bytes alone = sent();
  const int64_t looks_alone = looks;
  CHECK(looks_alone > 0);
  for (int layer = 1; layer < 30; ++layer) {
    const Value x = entry.values[ValueId(0)], y = entry.values[ValueId(1)];
    entry.values.add(x);
    entry.values.add(y);
    const Step start =
        start_step({CollectiveKind::kAllToAll, {0}, ReduceKind::kSum}, 2 * layer, 2 * layer + 1);
    entry.steps.add(start);
    entry.steps.add(wait_step(start, 2 * layer));
  }
  CHECK(sent() == Bytes{30 * alone[0], 30 * alone[1]});
  CHECK(looks == looks_alone);
}

// An all_reduce of several values, of which collectives may share any.
Step joined_start(std::initializer_list<int> inputs, std::initializer_list<int> outputs) {
  Step start = start_step({CollectiveKind::kAllReduce, {0}, ReduceKind::kSum}, 0, 0);
  start.inputs = value_ids(inputs);
  start.outputs = value_ids(outputs);
  return start;
}

TEST_CASE("sums of several values are counted with all of them, however they begin or end") {
  EntryPoint entry;
  const Dims shapes[] = {{{"a", 8}}, {{"a", 16}}, {{"a", 4}}};
  for (const Dims& dims : shapes) {
    Sharding sum = replicated(1);
    sum.partial = {{0, ReduceKind::kSum}};
    entry.values.add({"x", {DType::kF32, dims}, sum, kNoBuffer});
    entry.values.add({"y", {DType::kF32, dims}, replicated(1), kNoBuffer});
  }
  const auto sent = [&](const std::vector<Step>& starts) {
    entry.steps = {};
    for (const Step& start : starts) {
      const auto position = static_cast<int>(entry.steps.size());
      entry.steps.add(start);
      entry.steps.add(wait_step(start, position));
    }
    return bytes_between_nodes(entry, kFour, kPairs);
  };
  // Each of the two nodes sends as many bytes as a value has.
  const Step one = joined_start({0}, {1}), longer = joined_start({0, 2}, {1, 3}),
             other_end = joined_start({0, 4}, {1, 5}), other_begin = joined_start({2, 4}, {3, 5});
  CHECK(sent({one, longer}) == Bytes{32 + 96, 32 + 96});
  CHECK(sent({longer, one}) == Bytes{96 + 32, 96 + 32});
  CHECK(sent({longer, other_end}) == Bytes{96 + 48, 96 + 48});
  CHECK(sent({other_end, other_begin}) == Bytes{48 + 80, 48 + 80});
}

TEST_CASE("nodes are numbered in the order of their first ranks") {
  CHECK(numbered_nodes({4, 4, 0, 9, 0}) == NodesOfRanks{0, 0, 1, 2, 1});
}

}  // namespace
}  // namespace mtfc::node_traffic_test
