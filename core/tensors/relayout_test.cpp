#include "core/tensors/relayout.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace mtfc::relayout_test {
namespace {

Dims shape(std::initializer_list<int64_t> sizes) {
  Dims dims;
  for (const int64_t size : sizes)
    dims.push_back({std::string(1, static_cast<char>('a' + dims.size())), size});
  return dims;
}

// The global flat index of every element of a region, in the region's own order.
std::vector<int64_t> flat_indices(const Dims& dims, const Box& box) {
  std::vector<int64_t> indices{0};
  for (size_t i = 0; i < dims.size(); ++i) {
    std::vector<int64_t> finer;
    for (const int64_t outer : indices)
      for (int64_t k = box[i].begin; k < box[i].end; ++k) finer.push_back(outer * dims[i].size + k);
    indices = std::move(finer);
  }
  return indices;
}

// True if the runs copy exactly the elements that both regions hold.
bool runs_are_right(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to) {
  const std::vector<int64_t> source = flat_indices(from_dims, from), destination = flat_indices(to_dims, to);
  std::map<int64_t, int64_t> expected;  // destination offset -> source offset
  for (size_t j = 0; j < destination.size(); ++j)
    for (size_t i = 0; i < source.size(); ++i)
      if (source[i] == destination[j]) expected[static_cast<int64_t>(j)] = static_cast<int64_t>(i);
  int64_t count = 0;
  for (const Run& run : common_runs(from_dims, from, to_dims, to))
    for (int64_t k = 0; k < run.length; ++k, ++count) {
      const auto at = expected.find(run.to + k);
      if (at == expected.end() || at->second != run.from + k) return false;
    }
  return count == static_cast<int64_t>(expected.size()) &&
         common_elements(from_dims, from, to_dims, to) == count;
}

Box random_box(const Dims& dims, std::mt19937& random) {
  Box box;
  for (const Dim& dim : dims) {
    const auto a = static_cast<int64_t>(random() % static_cast<uint64_t>(dim.size + 1));
    const auto b = static_cast<int64_t>(random() % static_cast<uint64_t>(dim.size + 1));
    box.push_back({std::min(a, b), std::max(a, b)});
  }
  return box;
}

TEST_CASE("common runs are the elements both regions hold, whatever the shapes") {
  const std::vector<std::pair<Dims, Dims>> shapes = {
      {shape({16, 8}), shape({16, 8})},  {shape({16, 8}), shape({4, 4, 8})}, {shape({15, 7}), shape({21, 5})},
      {shape({2, 3, 4}), shape({24})},   {shape({6}), shape({1, 6, 1})},     {shape({}), shape({1})},
      {shape({4, 1, 6}), shape({8, 3})}, {shape({1, 1}), shape({})},         {shape({5}), shape({5})},
  };
  std::mt19937 random(1);
  for (const auto& [from, to] : shapes)
    for (int i = 0; i < 200; ++i)
      REQUIRE(runs_are_right(from, random_box(from, random), to, random_box(to, random)));
}

TEST_CASE("reshape groups are the smallest with equal products") {
  const auto groups = reshape_groups(shape({16, 8}), shape({4, 4, 8}));
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].from_end == 1);
  CHECK(groups[0].to_end == 2);
  CHECK(groups[1].to_end == 3);
  CHECK(reshape_groups(shape({15, 7}), shape({21, 5})).size() == 1);
  CHECK(reshape_groups(shape({}), shape({})).empty());
}

TEST_CASE("a sharding carries over where its shards stay the same elements") {
  const Mesh mesh({{"r", 2}, {"c", 4}});
  Sharding to;
  CHECK(carries(shape({16}), {{{0}}, {}}, shape({4, 4}), mesh, to));
  CHECK(to == Sharding{{{0}, {}}, {}});
  CHECK(carries(shape({4, 4}), {{{1}, {}}, {}}, shape({16}), mesh, to));
  CHECK(to == Sharding{{{1}}, {}});
  CHECK_FALSE(carries(shape({4, 4}), {{{}, {1}}, {}}, shape({16}), mesh, to));
  CHECK_FALSE(carries(shape({15}), {{{0}}, {}}, shape({5, 3}), mesh, to));
  CHECK(carries(shape({15}), {{{0}}, {{1, ReduceKind::kSum}}}, shape({15}), mesh, to));
  CHECK(to == Sharding{{{0}}, {{1, ReduceKind::kSum}}});
}

TEST_CASE("axes that split leading digits carry over one by one") {
  const Mesh mesh({{"r", 2}, {"s", 2}});
  Sharding to;
  CHECK(carries(shape({8}), {{{0, 1}}, {}}, shape({2, 4}), mesh, to));
  CHECK(to == Sharding{{{0}, {1}}, {}});
  CHECK(carries(shape({2, 4}), {{{0}, {1}}, {}}, shape({8}), mesh, to));
  CHECK(to == Sharding{{{0, 1}}, {}});
  // [6, 2/s] is not split at the start of a dimension of [4, 3], but [4, 3/s] at that of [2, 6] would be.
  CHECK_FALSE(carries(shape({6, 2}), {{{}, {1}}, {}}, shape({4, 3}), mesh, to));
  CHECK(carries(shape({4, 6}), {{{0}, {1}}, {}}, shape({2, 2, 6}), mesh, to));
  CHECK(to == Sharding{{{0}, {}, {1}}, {}});
  CHECK_FALSE(carries(shape({4, 6}), {{{0}, {1}}, {}}, shape({24}), mesh, to));
}

// All shardings of a tensor with `rank` dimensions over two axes.
std::vector<Sharding> all_shardings(size_t rank) {
  const std::vector<AxisList> lists = {{}, {0}, {1}, {0, 1}, {1, 0}};
  std::vector<Sharding> all{{{}, {}}};
  for (size_t d = 0; d < rank; ++d) {
    std::vector<Sharding> longer;
    for (const Sharding& s : all)
      for (const AxisList& list : lists) {
        Sharding next = s;
        next.dims.push_back(list);
        if (!uses_axis_twice(next)) longer.push_back(next);
      }
    all = std::move(longer);
  }
  return all;
}

TEST_CASE("under a sharding that carries over, every device holds the same elements in the same order") {
  const Mesh mesh({{"r", 2}, {"c", 3}});
  const std::vector<std::pair<Dims, Dims>> shapes = {
      {shape({24}), shape({4, 6})},     {shape({12, 2}), shape({2, 12})}, {shape({6, 4}), shape({2, 3, 4})},
      {shape({1, 6}), shape({6, 1})},   {shape({36}), shape({2, 3, 6})},  {shape({15, 7}), shape({21, 5})},
      {shape({5, 6}), shape({5, 1, 6})}};
  int carried = 0;
  for (const auto& [from_dims, to_dims] : shapes)
    for (const auto& [here, there] : {std::pair(from_dims, to_dims), std::pair(to_dims, from_dims)})
      for (const Sharding& from : all_shardings(here.size())) {
        Sharding to;
        if (!carries(here, from, there, mesh, to)) continue;
        ++carried;
        for (int64_t rank = 0; rank < mesh.devices(); ++rank) {
          const Box held = local_box(here, from, mesh, mesh.coordinates(rank));
          const Box carried_box = local_box(there, to, mesh, mesh.coordinates(rank));
          int64_t next = 0;
          for (const Run& run : common_runs(here, held, there, carried_box)) {
            REQUIRE(run.from == next);
            REQUIRE(run.to == next);
            next += run.length;
          }
          REQUIRE(next == elements(held));
          REQUIRE(next == elements(carried_box));
        }
      }
  CHECK(carried > 60);
}

// A device must find everything it needs on the devices that differ from it only along the moving axes.
TEST_CASE("moving axes reach everything a device needs, for every pair of shardings") {
  const Mesh mesh({{"r", 2}, {"c", 3}});
  const std::vector<std::pair<Dims, Dims>> shapes = {{shape({6, 5}), shape({6, 5})},
                                                     {shape({6, 4}), shape({2, 3, 4})},
                                                     {shape({15, 7}), shape({21, 5})},
                                                     {shape({12}), shape({2, 6})}};
  for (const auto& [from_dims, to_dims] : shapes)
    for (const Sharding& from : all_shardings(from_dims.size()))
      for (const Sharding& to : all_shardings(to_dims.size())) {
        const AxisList axes = moving_axes({from_dims, from, to_dims, to}, mesh);
        for (int64_t rank = 0; rank < mesh.devices(); ++rank) {
          const Coordinates at = mesh.coordinates(rank);
          const Box needed = local_box(to_dims, to, mesh, at);
          int64_t found = 0;
          for (int64_t member = 0; member < mesh.size(axes); ++member)
            found += common_elements(
                from_dims, local_box(from_dims, from, mesh, mesh.moved(at, axes, member)), to_dims, needed);
          REQUIRE(found == elements(needed));
        }
      }
}

}  // namespace
}  // namespace mtfc::relayout_test
