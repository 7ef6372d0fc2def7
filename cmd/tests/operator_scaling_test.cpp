// The operators of GShard's table 4 (Lepikhin et al. 2020): how compute and communication of a device grow with the
// number D of devices, if the split dimensions grow with D and the others stay. Counts are exact, so they are compared
// with formulas.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/command_results.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::operator_scaling_test {
namespace {

using Json = nlohmann::json;

struct Counts {
  int64_t flops = 0;  // of a device
  int64_t bytes = 0;  // sent by a device
  bool operator==(const Counts&) const = default;
};

// A row of the table: its operation, and how its tensors are split.
struct Operator {
  const char* name;
  Json dims, inputs, operation, shardings;
};

Counts counted(const Operator& row, int64_t devices, bool ring = false) {
  const ScratchFolder folder;
  const Json model = {{"mtfc", 1},
                      {"params", {{"D", devices}}},
                      {"dims", row.dims},
                      {"inputs", row.inputs},
                      {"ops", {row.operation}},
                      {"outputs", {"y"}}};
  Json layout = {{"mesh", {{"x", devices}}}, {"shardings", row.shardings}};
  if (ring) layout["ring"] = {{"y", true}};
  std::ofstream(folder / "model.json") << model;
  std::ofstream(folder / "layout.json") << layout;
  const Json report =
      report_of("'" + (folder / "model.json") + "'", "--layout '" + (folder / "layout.json") + "'");
  const auto number = [&](const char* part, const char* key) { return report[part][key].get<int64_t>(); };
  return {number("flops", "einsum_per_device") + number("flops", "other_per_device"),
          number("communication", "bytes_sent_per_device")};
}

Json dims_of(const std::vector<std::string>& names) {
  return {{"dims", names}};
}

Operator product(const char* split_a, const char* split_b, const char* split_y) {
  const auto split = [](const char* dim) { return *dim ? Json{{dim, "x"}} : Json::object(); };
  Operator row{"matmul",
               {{"A", 8}, {"B", 8}, {"C", 8}},
               {{"a", dims_of({"A", "B"})}, {"b", dims_of({"B", "C"})}},
               {{"out", "y"}, {"op", "einsum"}, {"in", {"a", "b"}}, {"over", "B"}},
               {{"a", split(split_a)}, {"b", split(split_b)}, {"y", split(split_y)}}};
  for (const char* dim : {split_a, split_b})
    if (*dim) row.dims[dim] = "8 * D";
  return row;
}

const std::vector<int64_t> kDevices = {16, 64, 256, 2048};

// The bytes that a device sends in an all_reduce of `n` floats.
int64_t reduced(int64_t n, int64_t devices) {
  return 4 * 2 * (n - n / devices);
}

}  // namespace

TEST_CASE("operators split alike compute as much on any number of devices, and send nothing or a constant") {
  const Operator add{"add",
                     {{"A", "8 * D"}},
                     {{"a", dims_of({"A"})}, {"b", dims_of({"A"})}},
                     {{"out", "y"}, {"op", "add"}, {"in", {"a", "b"}}},
                     {{"a", {{"A", "x"}}}, {"b", {{"A", "x"}}}, {"y", {{"A", "x"}}}}};
  const auto sum = [](const char* kept, const Json& split) {
    return Operator{"reduce",
                    {{"A", "8 * D"}, {"B", 64}},
                    {{"a", dims_of({"A", "B"})}},
                    {{"out", "y"}, {"op", "reduce_sum"}, {"in", "a"}, {"dims", kept}},
                    {{"a", {{"A", "x"}}}, {"y", split}}};
  };
  for (const int64_t devices : kDevices) {
    CAPTURE(devices);
    CHECK(counted(add, devices) == Counts{8, 0});
    CHECK(counted(product("A", "", "A"), devices) == Counts{1024, 0});
    CHECK(counted(product("B", "B", ""), devices) == Counts{1024, reduced(64, devices)});
    CHECK(counted(sum("A", {{"A", "x"}}), devices) == Counts{512, 0});
    CHECK(counted(sum("B", Json::object()), devices) == Counts{512, reduced(64, devices)});
  }
}

TEST_CASE("operands that are split in different ways are gathered, or turn round a ring, for as many bytes") {
  // Both the work of a device and what it sends grow with D: the second operand, of 64 floats on each device, goes
  // everywhere.
  for (const int64_t devices : kDevices)
    for (const bool ring : {false, true}) {
      CAPTURE(devices);
      CAPTURE(ring);
      const Counts expected{1024 * devices, 4 * 64 * (devices - 1)};
      CHECK(counted(product("A", "B", "A"), devices, ring) == expected);
      CHECK(counted(product("A", "C", "A"), devices, ring) == expected);
    }
}

TEST_CASE(
    "tokens go to experts for a constant number of bytes, if the places of an expert shrink as experts grow "
    "in number") {
  const Operator dispatch{
      "dispatch",
      {{"G", "D"}, {"S", 8}, {"E", "D"}, {"C", "4096 // D"}, {"M", 8}},
      {{"mask", dims_of({"G", "S", "E", "C"})}, {"tokens", dims_of({"G", "S", "M"})}},
      {{"out", "y"}, {"op", "einsum"}, {"in", {"mask", "tokens"}}, {"dims", {"E", "G", "C", "M"}}},
      {{"mask", {{"G", "x"}}}, {"tokens", {{"G", "x"}}}, {"y", {{"E", "x"}}}}};
  for (const int64_t devices : kDevices) {
    CAPTURE(devices);
    const int64_t results = 4096 * 8;
    CHECK(counted(dispatch, devices) == Counts{2 * 8 * results, 4 * (results - results / devices)});
  }
}

// GShard's figure 9: from 16 to 2,048 cores, an all_to_all of the same data on each core takes 9 times as long. Two
// cores share a chip, and the chips form a torus, of 4 x 2 for 16 cores and of 32 x 32 for 2,048.
TEST_CASE("an all_to_all on a torus grows about as the square root of the devices, as GShard measured") {
  const auto seconds = [](const Json& mesh, int64_t devices, int64_t megabytes) {
    const ScratchFolder folder;
    const Json axes = {"rows", "cols", "core"};
    const Json model = {
        {"mtfc", 1},
        {"params", {{"D", devices}}},
        {"dims", {{"G", "D"}, {"E", "D"}, {"C", fmt::format("{} // D", megabytes << 18)}}},
        {"inputs", {{"x", dims_of({"E", "G", "C"})}}},
        {"ops",
         {{{"out", "a"}, {"op", "relu"}, {"in", "x"}}, {{"out", "y"}, {"op", "identity"}, {"in", "a"}}}},
        {"outputs", {"y"}}};
    const Json layout = {{"mesh", mesh},
                         {"shardings", {{"x", {{"G", axes}}}, {"a", {{"G", axes}}}, {"y", {{"E", axes}}}}}};
    std::ofstream(folder / "model.json") << model;
    std::ofstream(folder / "layout.json") << layout;
    const Json report = report_of("'" + (folder / "model.json") + "'",
                                  "--layout '" + (folder / "layout.json") + "' --hardware tpu-v3");
    CHECK(report["communication"]["by_kind"]["all_to_all"]["count"] == 1);
    return report["time"]["communication_s"].get<double>();
  };
  for (const int64_t megabytes : {8, 32}) {
    const double growth = seconds({{"rows", 32}, {"cols", 32}, {"core", 2}}, 2048, megabytes) /
                          seconds({{"rows", 4}, {"cols", 2}, {"core", 2}}, 16, megabytes);
    CHECK(growth == doctest::Approx(9).epsilon(0.3));
  }
}

TEST_CASE("a convolution along a split dimension sends its halo, which does not grow") {
  const Operator conv{"conv",
                      {{"B", 2}, {"I", 4}, {"X", "8 * D"}, {"Y", 6}, {"x_taps", 3}, {"y_taps", 3}, {"O", 4}},
                      {{"a", dims_of({"B", "I", "X", "Y"})}, {"w", dims_of({"x_taps", "y_taps", "I", "O"})}},
                      {{"out", "y"},
                       {"op", "conv"},
                       {"in", {"a", "w"}},
                       {"over", "I"},
                       {"windows",
                        {{{"dim", "X"}, {"taps", "x_taps"}, {"to", "X"}, {"pad", "same"}},
                         {{"dim", "Y"}, {"taps", "y_taps"}, {"to", "Y"}, {"pad", "same"}}}}},
                      {{"a", {{"X", "x"}}}, {"y", {{"X", "x"}}}}};
  for (const int64_t devices : kDevices) {
    CAPTURE(devices);
    // A row goes to each of two neighbours.
    CHECK(counted(conv, devices) == Counts{2 * 9 * 4 * (2 * 8 * 6 * 4), 2 * 4 * (2 * 4 * 6)});
  }
}

}  // namespace mtfc::operator_scaling_test
