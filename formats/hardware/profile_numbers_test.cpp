#include "formats/hardware/profile_numbers.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"
#include "formats/hardware/hardware_reader.h"

namespace mtfc::profile_numbers_test {
namespace {

const std::string kProfile = R"({"name": "box", "flops": {"f32": 1e11, "bf16": 4e11}, "memory_bytes": 8e9,
  "memory_bandwidth": [[1e6, 8e10], [1e8, 1e10]], "efficiency": {"einsum": [[1e6, 0.5], [1e8, 0.9]]},
  "axes": {"*": {"latency_s": 2e-6, "bytes_per_s": 5e9}},
  "topology": {"kind": "two_level", "devices_per_node": 8, "inside": {"latency_s": 1e-6, "bytes_per_s": 9e9}}})";

Hardware scaled(const std::string& path, double factor) {
  return read_hardware(scaled_profile(kProfile, path, factor), "scaled");
}

}  // namespace

TEST_CASE("what a path leads to is scaled, and nothing else") {
  Hardware expected = read_hardware(kProfile, "box");
  expected.flops["bf16"] = 8e11;
  CHECK(scaled("flops/bf16", 2) == expected);
  CHECK(scaled("axes/*/latency_s", 3).axes.at("*").latency_s == doctest::Approx(6e-6));
  CHECK(scaled("topology/inside/bytes_per_s", 0.5).inside->bytes_per_s.at(1) == doctest::Approx(4.5e9));
  CHECK(scaled("memory_bandwidth", 0.5).memory_bandwidth.at(1e6) == doctest::Approx(4e10));
  CHECK(scaled("memory_bandwidth", 0.5).memory_bandwidth.at(1e8) == doctest::Approx(5e9));
  CHECK(profile_number(kProfile, "axes/*/latency_s") == 2e-6);
  CHECK(profile_number(kProfile, "memory_bandwidth") == 1);
}

TEST_CASE("a rate of a link is scaled for all kinds of collectives") {
  const std::string profile =
      R"({"name": "box", "flops": {"f32": 1e11}, "memory_bytes": 8e9, "memory_bandwidth": 1e10,
    "axes": {"*": {"latency_s": 2e-6, "bytes_per_s": 5e9, "collectives": {"all_reduce": {"latency_s": 1e-6,
      "bytes_per_s": [[1, 2e9], [10, 3e9]]}, "all_gather": {"latency_s": 4e-6, "bytes_per_s": 1e9}}}}})";
  const Link link = read_hardware(scaled_profile(profile, "axes/*/bytes_per_s", 2), "scaled").axes.at("*");
  CHECK(link.bytes_per_s.at(1) == 1e10);
  CHECK(link.collectives.at("all_reduce").bytes_per_s.at(1) == 4e9);
  CHECK(link.collectives.at("all_reduce").bytes_per_s.at(10) == 6e9);
  CHECK(link.collectives.at("all_gather").bytes_per_s.at(1) == 2e9);
  CHECK(link.collectives.at("all_gather").latency_s == 4e-6);
  CHECK(profile_number(profile, "axes/*/latency_s") == 2e-6);
}

TEST_CASE("shares of the peak stay at most 1") {
  const Hardware hardware = scaled("efficiency/einsum", 1.5);
  CHECK(hardware.efficiency.at("einsum").at(1e6) == doctest::Approx(0.75));
  CHECK(hardware.efficiency.at("einsum").at(1e8) == 1);
}

TEST_CASE("a number that the profile lacks begins small") {
  CHECK(scaled("step_overhead_s", 4).step_overhead_s == doctest::Approx(4e-6));
  CHECK(scaled("reserved_bytes", 2).reserved_bytes == doctest::Approx(2e8));
}

TEST_CASE("a path that leads nowhere is an error that names what there is") {
  CHECK_THROWS_WITH_AS(scaled("flops/f16", 2), doctest::Contains("the profile has no number 'flops/f16'"),
                       UserError);
  CHECK_THROWS_WITH_AS(scaled("flops/f16", 2), doctest::Contains("'f32'"), UserError);
  CHECK_THROWS_AS(scaled("name", 2), UserError);
  CHECK_THROWS_AS(scaled("axes", 2), UserError);
  CHECK_THROWS_AS(scaled("memory_bytes/x", 2), UserError);
}

TEST_CASE("a profile gets another doc") {
  CHECK(read_hardware(documented_profile(kProfile, "fitted"), "box").doc == "fitted");
}

}  // namespace mtfc::profile_numbers_test
