#include "runtime/calibrate/rate_import.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/cost/collective_time.h"
#include "core/diagnostics/error.h"
#include "runtime/calibrate/table_fit.h"

namespace mtfc::rate_import_test {

namespace {

Hardware nodes() {
  Hardware made;
  made.name = "nodes";
  made.flops["bf16"] = 1e14;
  made.memory_bandwidth = 1e15;
  made.step_overhead_s = 2e-6;
  made.axes["*"].latency_s = 1e-5;
  made.axes["*"].bytes_per_s = 1e9;
  made.topology = Topology::kTwoLevel;
  made.devices_per_node = 8;
  made.efficiency["einsum"] = 0.5;
  made.sources["axes/*/latency_s"] = "assumed";
  return made;
}

// A share that rises with each size and saturates.
double share_of(double m, double n, double k) {
  return 0.9 / ((1 + 100 / m) * (1 + 50 / n) * (1 + 200 / k));
}

}  // namespace

TEST_CASE("scattered products become a table, and times are predicted of sizes between") {
  MeasuredRates rates;
  int number = 0;
  for (const double m : {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096})
    for (const double n : {32, 128, 512, 2048, 8192})
      for (const double k : {32, 128, 512, 2048, 8192}) {
        if (++number % 3 == 0) continue;  // a third is missing
        const double flops = 2 * m * n * k;
        rates.kernels["einsum"].push_back(
            {{m, n, k}, flops, 2 * (m * k + k * n + m * n), 2e-6 + flops / (1e14 * share_of(m, n, k)), 0});
      }
  rates.sources["einsum"] = "somebody";
  Hardware hardware = nodes();
  const std::vector<ImportQuality> found = import_rates(rates, hardware);
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "einsum");
  CHECK(found[0].rows == rates.kernels["einsum"].size());
  CHECK(found[0].mean_error < 0.03);
  CHECK(found[0].held_error < 0.08);
  CHECK(found[0].held_error > found[0].mean_error);
  CHECK_FALSE(hardware.efficiency.contains("einsum"));
  const ShareTable& table = hardware.tables.at("einsum");
  CHECK(number_count(table) == found[0].numbers);
  CHECK(table.shares.size() <= 400);
  CHECK(table.at(std::vector{300.0, 300.0, 1000.0}) ==
        doctest::Approx(share_of(300, 300, 1000)).epsilon(0.1));
  CHECK(hardware.sources.at("efficiency/einsum").starts_with("somebody (167 rows; mean error"));
}

TEST_CASE("a table with few rows has the sizes that help, and shares of at most 1") {
  std::vector<MeasuredShare> measured;
  for (const double length : {128, 256, 512, 1024, 2048, 4096})
    for (const double heads : {1, 4, 16}) measured.push_back({{length, heads}, std::min(1.0, length / 1024)});
  const TableSizes sizes = chosen_sizes(measured, 8);
  CHECK(sizes.shares() <= 8);
  CHECK(sizes.sizes[0].size() > sizes.sizes[1].size());  // heads make no difference
  const ShareTable table = fitted_table(measured, sizes);
  CHECK(table.most() <= 1);
  CHECK(table.at(std::vector{128.0, 2.0}) == doctest::Approx(0.125).epsilon(0.1));
}

TEST_CASE(
    "collectives give a link its fixed time, its latency and its bandwidth, which may depend on the "
    "members") {
  MeasuredRates rates;
  for (const int64_t devices : {2, 4, 8, 16})
    for (double bytes = 1e3; bytes < 1e9; bytes *= 4) {
      const bool is_inside = devices <= 8;
      const double share = devices == 8 ? 0.5 : 1, rate = (is_inside ? 2e11 : 2e10) * bytes / (bytes + 1e6);
      rates.collectives.push_back(
          {CollectiveKind::kAllReduce, devices, bytes,
           8e-6 + 2e-6 * static_cast<double>(2 * (devices - 1)) + bytes / (share * rate)});
    }
  Hardware hardware = nodes();
  const std::vector<ImportQuality> found = import_rates(rates, hardware);
  REQUIRE(found.size() == 2);
  for (const ImportQuality& part : found) CHECK(part.mean_error < 0.08);
  REQUIRE(hardware.inside);
  const Rate& rate = hardware.inside->collectives.at("all_reduce");
  CHECK(rate.fixed_s + 2 * rate.latency_s == doctest::Approx(12e-6 + 5e-6).epsilon(0.15));  // of two members
  CHECK(rate.members_share.at(8) / rate.members_share.at(2) == doctest::Approx(0.5).epsilon(0.2));
  CHECK(rate.bytes_per_s.at(2e8) == doctest::Approx(2e11).epsilon(0.2));
  CHECK(hardware.link("*").collectives.at("all_reduce").bytes_per_s.at(2e8) ==
        doctest::Approx(2e10).epsilon(0.2));
  CHECK(hardware.sources.contains("topology/inside"));
  CHECK_FALSE(hardware.sources.contains("axes/*/latency_s"));
  // It is what the prediction takes.
  const double seconds =
      collective_time(CollectiveKind::kAllReduce, {0}, Mesh({{"all", 4}}), 1e6, hardware).seconds();
  CHECK(seconds == doctest::Approx(8e-6 + 12e-6 + 1e6 / 1e11).epsilon(0.15));
}

TEST_CASE("a fit needs some rows") {
  MeasuredRates rates;
  rates.collectives.push_back({CollectiveKind::kAllGather, 2, 8, 1});
  Hardware hardware = nodes();
  CHECK_THROWS_WITH_AS(import_rates(rates, hardware),
                       "error: there are 1 rows of collectives in a node, but a fit needs at least 4",
                       UserError);
}

}  // namespace mtfc::rate_import_test
