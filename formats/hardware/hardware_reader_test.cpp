#include "formats/hardware/hardware_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "core/diagnostics/error.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/hardware/profile_values.h"

namespace mtfc::hardware_reader_test {

namespace {

std::string complaint(const std::string& text) {
  try {
    read_hardware(text, "h.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// A profile with `more` members, and `axes`.
std::string profile(const std::string& more, const std::string& axes = "{}") {
  return fmt::format(R"({{"name": "a", "flops": {{"f32": 1}}, "memory_bytes": 1, "memory_bandwidth": 1,
"axes": {}{}{}}})",
                     axes, more.empty() ? "" : ",\n", more);
}

ProfileFile bundled_profile(const std::string& name, const std::string&) {
  const std::filesystem::path file =
      std::filesystem::path(kSourceFolder) / "models/hardware" / (name + ".json");
  return {contents(file), file.string()};
}

}  // namespace

TEST_CASE("a profile with everything comes back from its own JSON") {
  const Hardware hardware = read_hardware(R"({
    "name": "box", "doc": "for a test", "ranks": 4, "threads_per_rank": 2,
    "flops": {"f32": 22.5e12, "bf16": 4.5e13}, "memory_bytes": 8e9, "reserved_bytes": 5e8,
    "memory_bandwidth": [[1e6, 3.5e11], [1e8, 1e10]], "write_bandwidth": 2e10, "overlap": 0.25,
    "step_overhead_s": 2e-6, "issue_s": 4e-5, "program_overhead_s": 0.001,
    "efficiency": {"einsum": [[1e6, 0.25], [1e9, 1]], "gelu": 0.125,
                   "batched_einsum": {"m": [1, 64], "n": [8], "k": [1, 2, 4], "share": [0.1, 0.2, 0.3, 0.4, 0.5, 1]},
                   "widened_einsum": 0.75, "attention": {"length": [64], "heads": [1, 4], "share": [0.25, 1]},
                   "attention_gradient": [[64, 0.25], [256, 0.5]]},
    "axes": {"rows": {"latency_s": 1e-6, "bytes_per_s": [[1e3, 1e9], [1e6, 6.2e10]], "overlaps": false, "fixed_s": 3e-6,
                      "members_share": [[2, 1], [8, 0.5]],
                      "collectives": {"all_reduce": {"latency_s": 0, "bytes_per_s": 5e9, "fixed_s": 7e-6}}},
             "*": {"latency_s": 0, "bytes_per_s": 1}},
    "topology": {"kind": "two_level", "devices_per_node": 8, "inside": {"latency_s": 0, "bytes_per_s": 2}},
    "sources": {"flops": "the data sheet", "axes/rows/collectives/all_reduce": "assumed", "topology/inside": "a guess"}})",
                                          "h.json");
  CHECK(hardware.name == "box");
  CHECK(hardware.ranks == 4);
  CHECK(hardware.threads_per_rank == 2);
  CHECK(memory_of(hardware) == 7'500'000'000);
  CHECK(hardware.flops.at("bf16") == 4.5e13);
  CHECK(hardware.memory_bandwidth.at(1e7) == doctest::Approx(1.8e11));
  CHECK(hardware.write_bandwidth->at(1) == 2e10);
  CHECK(hardware.overlap == 0.25);
  CHECK(hardware.tables.at("batched_einsum").at(std::vector{64.0, 8.0, 2.0}) == doctest::Approx(0.5));
  CHECK(hardware.tables.at("attention").at(std::vector{64.0, 2.0, 8.0}) == doctest::Approx(0.5));
  CHECK(hardware.efficiency.at("attention_gradient").at(128) == doctest::Approx(0.375));
  CHECK(hardware.issue_s == 4e-5);
  CHECK(hardware.program_overhead_s == 0.001);
  CHECK(hardware.link("rows").fixed_s == 3e-6);
  CHECK(hardware.link("rows").members_share.at(4) == doctest::Approx(0.75));
  CHECK(hardware.link("rows").collectives.at("all_reduce").fixed_s == 7e-6);
  CHECK(hardware.sources.at("flops") == "the data sheet");
  CHECK(hardware.step_overhead_s == 2e-6);
  CHECK(hardware.efficiency.at("gelu").at(7) == 0.125);
  CHECK_FALSE(hardware.link("rows").overlaps);
  CHECK(hardware.link("rows").collectives.at("all_reduce").bytes_per_s.at(1) == 5e9);
  CHECK(hardware.link("cols").bytes_per_s.at(1) == 1);
  CHECK(hardware.topology == Topology::kTwoLevel);
  CHECK(hardware.devices_per_node == 8);
  CHECK(hardware.inside->bytes_per_s.at(1) == 2);
  CHECK(read_hardware(hardware_json(hardware), "again.json") == hardware);
}

TEST_CASE(
    "each value of a profile is listed with its unit, and with the source of the longest path that covers "
    "it") {
  const Hardware hardware = read_hardware(R"({"name": "a", "flops": {"f32": 1.25e12}, "memory_bytes": 8e10,
    "memory_bandwidth": [[1e6, 2.039e12], [1e8, 1e12]], "issue_s": 4.5e-5,
    "efficiency": {"einsum": 0.85, "attention": {"length": [512, 8192], "heads": [8], "share": [0.25, 0.5]}},
    "axes": {"*": {"latency_s": 0, "bytes_per_s": 3e9}}, "topology": "torus",
    "sources": {"efficiency": "measured", "efficiency/einsum": "assumed", "axes/*/latency_s": "a paper"}})",
                                          "h.json");
  std::string text;
  for (const ProfileValue& value : profile_values(hardware))
    if (!value.is_default) text += value.path + ": " + value.text + "; " + value.source + "\n";
  CHECK(text ==
        "flops/f32: 1.25 TFLOP/s; \n"
        "memory_bytes: 80 GB; \n"
        "memory_bandwidth: 1 TB/s to 2.039 TB/s over sizes 1 M to 100 M (2 points); \n"
        "issue_s: 45 us; \n"
        "efficiency/einsum: 85 %; assumed\n"
        "efficiency/attention: 25 % to 50 % over length 512 to 8192, heads 8 (2 shares); measured\n"
        "axes/*/latency_s: 0 s; a paper\n"
        "axes/*/bytes_per_s: 3 GB/s; \n"
        "topology: torus; \n");
}

TEST_CASE("the bundled profiles are read, and named as their files") {
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(kSourceFolder) / "models/hardware")) {
    const Hardware hardware = read_hardware(contents(entry.path()), entry.path().string(), bundled_profile);
    CHECK(hardware.name == entry.path().stem().string());
    CHECK(hardware.axes.count("*") == 1);
    CHECK(read_hardware(exact_hardware_json(hardware), "again.json") == hardware);
    for (const ProfileValue& value : profile_values(hardware))
      CHECK_MESSAGE((value.is_default ||
                     (!value.source.empty() && value.source.find("no source") == std::string::npos)),
                    hardware.name << " has no source of " << value.path);
    ++count;
  }
  CHECK(count >= 16);
}

TEST_CASE("mistakes in profiles, with their places") {
  CHECK(complaint("{}") ==
        "h.json:1:1: error: 'name' is missing\n"
        "h.json:1:1: error: 'flops' is missing\n"
        "h.json:1:1: error: 'memory_bytes' is missing\n"
        "h.json:1:1: error: 'memory_bandwidth' is missing\n"
        "h.json:1:1: error: 'axes' is missing");
  CHECK(complaint(R"({"mtfc": 1})") ==
        "h.json:1:1: error: this is not a hardware profile (`mtfc schema hardware` describes one)");
  CHECK(complaint(profile(R"("topology": "torsu")")) ==
        "h.json:3:13: error: /topology: unknown topology 'torsu' (did you mean 'torus'?)");
  CHECK(complaint(profile(R"("topology": {"kind": "ring", "devices_per_node": 0})")) ==
        "h.json:3:22: error: /topology/kind: expected 'two_level', found 'ring' (other topologies are a "
        "string)\n"
        "h.json:3:50: error: /topology/devices_per_node: expected at least 1, found 0");
  CHECK(complaint(profile(R"("efficiency": {"einsum": 1.5, "enisum": 1})")) ==
        "h.json:3:26: error: /efficiency/einsum: expected at most 1, found 1.5\n"
        "h.json:3:31: error: /efficiency/enisum: 'enisum' is neither an operation nor a class of kernels "
        "(did you mean 'einsum'?)");
  CHECK(complaint(profile(R"("efficiency": {"einsum": [[2, 1], [1, 1], 3], "gelu": []})")) ==
        "h.json:3:36: error: /efficiency/einsum/1/0: the sizes must ascend, but 1 follows 2\n"
        "h.json:3:43: error: /efficiency/einsum/2: a point is a list of a size and a value\n"
        "h.json:3:55: error: /efficiency/gelu: the list has no points");
  CHECK(complaint(profile(R"("ranks": 0)")) == "h.json:3:10: error: /ranks: expected at least 1, found 0");
  CHECK(complaint(profile(R"("overlap": 1.5)")) ==
        "h.json:3:12: error: /overlap: expected at most 1, found 1.5");
  CHECK(
      complaint(profile(R"("efficiency": {"einsum": {"m": [2, 1], "n": [], "k": [1], "share": [2]}})")) ==
      "h.json:3:36: error: /efficiency/einsum/m/1: the sizes must ascend, but 1 follows 2\n"
      "h.json:3:45: error: /efficiency/einsum/n: the list has no sizes\n"
      "h.json:3:68: error: /efficiency/einsum/share: expected a share for each of 2 x 0 x 1 sizes, 0 in all, "
      "found 1 (those of all sizes of k for the first of m and n come first)\n"
      "h.json:3:69: error: /efficiency/einsum/share/0: expected at most 1, found 2");
  CHECK(complaint(profile(R"("efficiency": {"gelu": {"m": [1]}})")) ==
        "h.json:3:24: error: /efficiency/gelu: expected a number, or a list of pairs [size, value], found an "
        "object");
  CHECK(complaint(profile("", R"({"*": {"latency_s": -1, "bytes_per_s": 0, "colour": 1}})")) ==
        "h.json:2:29: error: /axes/*/latency_s: expected a number of at least 0, found -1\n"
        "h.json:2:48: error: /axes/*/bytes_per_s: expected a number above 0, found 0\n"
        "h.json:2:51: error: /axes/*/colour: unknown key 'colour' (keys here are latency_s, bytes_per_s, "
        "fixed_s, members_share, overlaps, slows_kernels, slowed_by_kernels, collectives, doc)");
  CHECK(complaint(profile(R"("efficiency": {"attention": {"length": [1], "m": [1], "share": [1]}})")) ==
        "h.json:3:45: error: /efficiency/attention/m: unknown key 'm' (keys here are length, heads, group, "
        "share, factors)");
  CHECK(complaint(profile(R"("sources": {"flops/f23": "a", "name": "c"})")) ==
        "h.json:3:13: error: /sources/flops~1f23: 'flops/f23' is the path of no value of the profile (did "
        "you mean "
        "'flops/f32'?)\n"
        "h.json:3:31: error: /sources/name: 'name' is the path of no value of the profile (a path is as in "
        "flops/bf16, "
        "efficiency/einsum or axes/*/bytes_per_s)");
}

TEST_CASE("levels of links come back from their own JSON, and two of them are a two_level topology") {
  const Hardware hardware = read_hardware(
      profile(R"("topology": {"kind": "levels", "levels": [{"devices": 8, "latency_s": 1, "bytes_per_s": 2},
    {"devices": 64, "latency_s": 3, "bytes_per_s": 4, "slows_kernels": 1.5, "slowed_by_kernels": 2}]},
    "sources": {"topology/levels/1": "a guess"})"),
      "h.json");
  CHECK(hardware.devices_per_node == 8);
  CHECK(hardware.inside->latency_s == 1);
  REQUIRE(hardware.wider.size() == 1);
  CHECK(hardware.wider[0].devices == 64);
  CHECK(hardware.wider[0].link.slows_kernels == 1.5);
  CHECK(hardware.wider[0].link.slowed_by_kernels == 2);
  CHECK(read_hardware(hardware_json(hardware), "again.json") == hardware);
  const auto with = [](const std::string& topology) {
    return read_hardware(profile("\"topology\": " + topology), "h.json");
  };
  CHECK(
      with(R"({"kind": "levels", "levels": [{"devices": 8, "latency_s": 1, "bytes_per_s": 2}]})") ==
      with(R"({"kind": "two_level", "devices_per_node": 8, "inside": {"latency_s": 1, "bytes_per_s": 2}})"));
  CHECK(complaint(profile(
            R"("topology": {"kind": "levels", "levels": [{"devices": 8, "latency_s": 1, "bytes_per_s": 2},
{"devices": 8, "latency_s": 1, "bytes_per_s": 2, "slows_kernels": 0.5}]})")) ==
        "h.json:4:13: error: /topology/levels/1/devices: each level must have more devices than the one "
        "before, but 8 "
        "follows 8\n"
        "h.json:4:67: error: /topology/levels/1/slows_kernels: expected a number of at least 1, found 0.5");
  CHECK(complaint(profile(R"("topology": {"kind": "levels", "levels": []})")) ==
        "h.json:3:42: error: /topology/levels: the list has no levels (the first is that of the devices of a "
        "node)");
}

TEST_CASE("a profile has the values of its base, number by number, but those that it states") {
  const std::string box =
      R"({"name": "box", "doc": "a box", "flops": {"f32": 1, "bf16": 2}, "memory_bytes": 8,
    "memory_bandwidth": [[1, 2], [3, 4]], "issue_s": 5, "efficiency": {"einsum": 0.5, "gelu": 0.25},
    "axes": {"*": {"latency_s": 6, "bytes_per_s": 7, "collectives": {"all_reduce": {"latency_s": 8, "bytes_per_s": 9}}}},
    "topology": {"kind": "two_level", "devices_per_node": 4, "inside": {"latency_s": 1, "bytes_per_s": 2,
      "collectives": {"all_reduce": {"latency_s": 8, "bytes_per_s": 9}}}},
    "sources": {"flops": "sheet", "efficiency": "measured", "axes": "assumed", "topology": "assumed"}})";
  const std::map<std::string, std::string> files = {
      {"box", box}, {"faster", R"({"name": "faster", "base": "box", "flops": {"bf16": 3},
        "efficiency": {"einsum": {"m": [1, 2], "share": [0.5, 1]}}, "axes": {"*": {"bytes_per_s": 10}},
        "topology": {"kind": "two_level", "inside": {"fixed_s": 3}}, "sources": {"efficiency/einsum": "a table"}})"}};
  const FindProfile find = [&](const std::string& name, const std::string&) {
    return ProfileFile{files.at(name), name};
  };
  // The same profile is written out here, without a base.
  CHECK(read_hardware(files.at("faster"), "faster", find) == read_hardware(R"({"name": "faster",
    "flops": {"f32": 1, "bf16": 3}, "memory_bytes": 8, "memory_bandwidth": [[1, 2], [3, 4]], "issue_s": 5,
    "efficiency": {"einsum": {"m": [1, 2], "share": [0.5, 1]}, "gelu": 0.25},
    "axes": {"*": {"latency_s": 6, "bytes_per_s": 10}},
    "topology": {"kind": "two_level", "devices_per_node": 4, "inside": {"latency_s": 1, "bytes_per_s": 2, "fixed_s": 3,
      "collectives": {"all_reduce": {"latency_s": 8, "bytes_per_s": 9}}}},
    "sources": {"flops/f32": "sheet", "efficiency/einsum": "a table", "efficiency/gelu": "measured",
      "axes/*/latency_s": "assumed", "topology/devices_per_node": "assumed",
      "topology/inside/latency_s": "assumed", "topology/inside/bytes_per_s": "assumed",
      "topology/inside/collectives/all_reduce/latency_s": "assumed",
      "topology/inside/collectives/all_reduce/bytes_per_s": "assumed"}})",
                                                                           "whole"));
  const Hardware half = read_hardware(R"({"name": "half", "base": "faster",
    "factors": {"efficiency/einsum": 0.5, "axes/*/bytes_per_s": 3, "memory_bandwidth": 2},
    "sources": {"axes": "three links", "efficiency": "fitted"}})",
                                      "half", find);
  CHECK(half.tables.at("einsum").shares == std::vector{0.25, 0.5});
  CHECK(half.link("*").bytes_per_s.at(1) == 30);
  CHECK(half.memory_bandwidth.points() == std::vector<std::pair<double, double>>{{1, 4}, {3, 8}});
  CHECK(half.sources.at("efficiency/einsum") == "a table; times 0.5, fitted");
  CHECK(half.sources.at("efficiency/gelu") == "measured");
  CHECK(half.sources.at("axes/*/bytes_per_s") == "no source; times 3, three links");
  CHECK(half.sources.at("axes/*/latency_s") == "assumed");
  const auto with = [&](const std::string& more) {
    return read_hardware(R"({"name": "a", "base": "faster", )" + more + "}", "a", find);
  };
  const Hardware levels = with(R"("topology": {"kind": "levels", "levels": [
    {"devices": 2, "latency_s": 1, "bytes_per_s": 1}, {"devices": 8, "latency_s": 1, "bytes_per_s": 1}]})");
  CHECK(levels.devices_per_node == 2);
  CHECK(levels.wider.size() == 1);
  CHECK(levels.inside->collectives.empty());
  CHECK_FALSE(with(R"("topology": "ring")").inside.has_value());
  CHECK(with(R"("efficiency": {"einsum": 1})").tables.empty());
}

TEST_CASE("a device has memory that is not reserved") {
  CHECK(memory_of(read_hardware(profile(R"("reserved_bytes": 0.25)"), "h.json")) == 1);
  CHECK_THROWS_WITH(
      read_hardware(profile(R"("reserved_bytes": 1)"), "h.json"),
      "h.json:3:19: error: /reserved_bytes: all memory of a device is reserved (\"memory_bytes\" has "
      "what programs use as well)");
}

}  // namespace mtfc::hardware_reader_test
