#include "core/program/sent_elements.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "core/diagnostics/stop.h"
#include "core/graph/op_registry.h"

// Every number is compared with a count over all pairs of devices.
namespace mtfc::sent_elements_test {
namespace {

// All shardings of `rank` dimensions over two axes.
std::vector<Sharding> all_shardings(size_t rank) {
  std::vector<Sharding> all{{std::vector<AxisList>(rank), {}}};
  for (int axis = 0; axis < 2; ++axis) {
    const std::vector<Sharding> before = all;
    for (const Sharding& sharding : before)
      for (size_t d = 0; d < rank; ++d)
        for (size_t at = 0; at <= sharding.dims[d].size(); ++at) {
          Sharding longer = sharding;
          longer.dims[d].insert(longer.dims[d].begin() + static_cast<std::ptrdiff_t>(at), axis);
          all.push_back(longer);
        }
  }
  return all;
}

// `common` counts the elements that two devices have in common: of what the first one holds, and the second one needs.
template <typename Common>
void check_counts(const SentElements& sent, const AxisList& axes, const Mesh& mesh, Common common) {
  int64_t most = 0;
  for (int64_t rank = 0; rank < mesh.devices(); ++rank) {
    const Coordinates at = mesh.coordinates(rank);
    int64_t expected = 0;
    for (int64_t m = 0; m < mesh.size(axes); ++m)
      if (const Coordinates member = mesh.moved(at, axes, m); member != at) expected += common(at, member);
    REQUIRE(sent.sent(at) == expected);
    most = std::max(most, expected);
  }
  REQUIRE(sent.most() == most);
  REQUIRE(sent.most_or_bound() == most);
  REQUIRE(sent.none() == (most == 0));
}

const Mesh kMesh({{"r", 2}, {"c", 3}});

int64_t overlap(const Box& a, const Box& b) {
  int64_t common = 1;
  for (size_t d = 0; d < a.size(); ++d)
    common *= std::max<int64_t>(0, std::min(a[d].end, b[d].end) - std::max(a[d].begin, b[d].begin));
  return common;
}

TEST_CASE("regions that windows read, which overlap, leave gaps, or are empty") {
  const Dims dims = {{"h", 13}, {"w", 6}};
  const WindowSplit windows[] = {{0, 7, 2, 1, 3, 1},  {0, 13, 1, 5, 9, 1}, {0, 4, 4, 1, 2, 1},
                                 {0, 26, 1, 2, 3, 2}, {0, 3, 5, -2, 2, 1}, {0, 2, 30, 0, 1, 1}};
  for (const Sharding& from : all_shardings(2))
    for (Sharding to : all_shardings(2)) {
      if (to.dims[0].empty()) continue;
      for (const WindowSplit& window : windows) {
        to.windows = {window};
        if (!to.dims[1].empty()) to.windows.push_back({1, 6, 1, 1, 3, 1});
        const AxisList axes = moving_axes({dims, from, dims, to}, kMesh);
        check_counts(SentElements({dims, from}, {dims, to}, axes, kMesh), axes, kMesh,
                     [&](const Coordinates& at, const Coordinates& member) {
                       return overlap(local_box(dims, from, kMesh, at), local_box(dims, to, kMesh, member));
                     });
      }
    }
}

TEST_CASE("halos of hundreds of devices") {
  const Mesh mesh({{"r", 300}});
  const Dims dims = {{"h", 1000}};
  const Sharding from{{AxisList{0}}, {}};
  for (const WindowSplit& window : {WindowSplit{0, 1000, 1, 1, 3, 1}, WindowSplit{0, 500, 2, 3, 7, 1}}) {
    Sharding to = from;
    to.windows = {window};
    check_counts(SentElements({dims, from}, {dims, to}, {0}, mesh), {0}, mesh,
                 [&](const Coordinates& at, const Coordinates& member) {
                   return overlap(local_box(dims, from, mesh, at), local_box(dims, to, mesh, member));
                 });
  }
}

TEST_CASE("reshards and relabellings of any sharding into any other") {
  const std::pair<Dims, Dims> shapes[] = {{{{"a", 12}, {"b", 6}}, {{"a", 12}, {"b", 6}}},
                                          {{{"a", 7}, {"b", 1}}, {{"a", 7}, {"b", 1}}},
                                          {{{"a", 12}}, {{"b", 2}, {"c", 6}}},
                                          {{{"a", 15}, {"b", 7}}, {{"c", 21}, {"d", 5}}}};
  for (const auto& [from_dims, to_dims] : shapes)
    for (const Sharding& from : all_shardings(from_dims.size()))
      for (const Sharding& to : all_shardings(to_dims.size())) {
        const AxisList axes = moving_axes({from_dims, from, to_dims, to}, kMesh);
        check_counts(
            SentElements({from_dims, from}, {to_dims, to}, axes, kMesh), axes, kMesh,
            [&, &held = from_dims, &needed = to_dims](const Coordinates& at, const Coordinates& member) {
              return common_elements(held, local_box(held, from, kMesh, at), needed,
                                     local_box(needed, to, kMesh, member));
            });
      }
}

TEST_CASE("pieces of one operand and of several") {
  const Dim wide{"wide", 11}, a{"a", 7}, both{"both", 14};
  struct Trial {
    const char* op;
    size_t operands;
    Attributes attributes;
    Dims result;
  };
  const Trial trials[] = {
      {"pad", 1, {{"dim", a}, {"low", int64_t{3}}, {"high", int64_t{1}}, {"to", wide}}, {wide, {"l", 3}}},
      {"reverse", 1, {{"dim", a}}, {a, {"l", 3}}},
      {"shift", 1, {{"dim", a}, {"by", int64_t{2}}, {"wrap", true}}, {a, {"l", 3}}},
      {"concat", 2, {{"dim", Dims{a}}, {"to", both}}, {both, {"l", 3}}}};
  const Dims dims{a, {"l", 3}};
  for (const Trial& trial : trials)
    for (const Sharding& sharding : all_shardings(2)) {
      const std::vector<TensorType> operands(trial.operands, {DType::kF32, dims}),
          results{{DType::kF32, trial.result}};
      const PieceMap pieces(op_named(trial.op), trial.attributes, operands, results);
      AxisList axes = sharding.dims[0];
      std::sort(axes.begin(), axes.end());
      const std::vector<MovedTensor> held(trial.operands, {dims, sharding});
      CAPTURE(trial.op);
      check_counts(SentElements(pieces, held, {trial.result, sharding}, axes, kMesh), axes, kMesh,
                   [&](const Coordinates& at, const Coordinates& member) {
                     int64_t common = 0;
                     for (size_t k = 0; k < trial.operands; ++k)
                       common += pieces.common_elements(k, local_box(dims, sharding, kMesh, at),
                                                        local_box(trial.result, sharding, kMesh, member));
                     return common;
                   });
    }
}

TEST_CASE("a mesh of more devices than are looked at one by one") {
  const Mesh mesh({{"r", 17}, {"c", 3}, {"p", 5}});
  const Dims dims{{"a", 40}, {"b", 31}, {"l", 3}, {"m", 2}};
  const std::pair<Sharding, Sharding> changes[] = {
      {{{{0}, {1, 2}, {}, {}}, {}}, {{{1}, {0}, {}, {2}}, {}}},
      {{{{0, 1}, {2}, {}, {}}, {}}, {{{1}, {0, 2}, {}, {}}, {}}},
      {{{{2}, {}, {0}, {1}}, {}}, {{{0}, {2}, {1}, {}}, {}}},
  };
  for (const auto& [from, to] : changes) {
    const AxisList axes = moving_axes({dims, from, dims, to}, mesh);
    int64_t most = 0;
    for (int64_t rank = 0; rank < mesh.devices(); ++rank) {
      const Coordinates at = mesh.coordinates(rank);
      int64_t sent = 0;
      for (int64_t m = 0; m < mesh.size(axes); ++m)
        if (const Coordinates member = mesh.moved(at, axes, m); member != at)
          sent +=
              common_elements(dims, local_box(dims, from, mesh, at), dims, local_box(dims, to, mesh, member));
      most = std::max(most, sent);
    }
    const SentElements counted({dims, from}, {dims, to}, axes, mesh);
    CHECK(counted.most() == most);
    CHECK(counted.most_or_bound() >= most);
    CHECK_FALSE(counted.none());
  }
}

TEST_CASE("dimensions with fewer elements than devices, of which most hold nothing") {
  const Mesh mesh({{"r", 15}, {"c", 20}});
  const Dims dims{{"a", 7}, {"b", 18}};
  for (const Sharding& from : all_shardings(2))
    for (const Sharding& to : all_shardings(2)) {
      const AxisList axes = moving_axes({dims, from, dims, to}, mesh);
      if (axes.empty()) continue;
      int64_t most = 0;
      for (int64_t rank = 0; rank < mesh.devices(); ++rank) {
        const Coordinates at = mesh.coordinates(rank);
        const Box held = local_box(dims, from, mesh, at);
        if (elements(held) == 0) continue;
        int64_t sent = 0;
        for (int64_t m = 0; m < mesh.size(axes); ++m)
          if (const Coordinates member = mesh.moved(at, axes, m); member != at)
            sent += overlap(held, local_box(dims, to, mesh, member));
        most = std::max(most, sent);
      }
      REQUIRE(SentElements({dims, from}, {dims, to}, axes, mesh).most() == most);
    }
}

TEST_CASE("the work does not grow with devices that hold nothing") {
  const Mesh mesh({{"r", 31'250}, {"c", 32'000}});
  const Dims dims{{"batch", 8}, {"length", 64}};
  int64_t looks = 0;  // one for every 256 devices
  const std::function<bool()> looked = [&] { return ++looks > 1000; };
  const StopScope scope(looked);
  // One row of 64 elements goes to devices of which a sender itself needs at most one element, and some need none.
  const Sharding rows{{{0}, {}}, {}}, columns{{{1}, {0}}, {}};
  CHECK(SentElements({dims, rows}, {dims, columns}, {0, 1}, mesh).most() == 64);
  Sharding windows = rows;
  windows.windows = {{0, 8, 1, 1, 3, 1}};
  const SentElements halos({dims, rows}, {dims, windows}, {0}, mesh);
  CHECK(halos.most() == 2 * 64);
  CHECK(halos.most_received() == 2 * 64);
  CHECK(looks < 100);
}

TEST_CASE("a large mesh is not looked at device by device where all shards are alike") {
  const Mesh mesh({{"r", 4096}, {"c", 4096}});
  const Dims dims{{"a", 4096 * 4096}, {"b", 4096}};
  const Sharding from{{{0, 1}, {}}, {}}, to{{{0}, {1}}, {}};
  const SentElements sent({dims, from}, {dims, to}, {1}, mesh);
  CHECK(sent.most() == 4096 - 1);
}

}  // namespace
}  // namespace mtfc::sent_elements_test
