#include "core/cost/hardware.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"

namespace mtfc::hardware_test {

TEST_CASE("a curve is linear on a logarithmic scale of sizes, and constant beyond its ends") {
  const Curve curve({{1e6, 0.5}, {1e8, 0.9}, {1e9, 0.1}});
  CHECK(curve.at(0) == 0.5);
  CHECK(curve.at(1e6) == 0.5);
  CHECK(curve.at(1e7) == doctest::Approx(0.7));
  CHECK(curve.at(1e8) == doctest::Approx(0.9));
  CHECK(curve.at(1e12) == 0.1);
  CHECK(curve.most() == 0.9);
  CHECK(Curve(3).at(0) == 3);
  CHECK(Curve(3).at(1e30) == 3);
}

TEST_CASE("what a profile does not list") {
  Hardware hardware;
  hardware.name = "box";
  hardware.flops = {{"f32", 4}, {"f64", 2}};
  CHECK(hardware.peak(DType::kF32) == 4);
  CHECK(hardware.peak(DType::kI32) == 2);
  hardware.axes["rows"].latency_s = 1;
  CHECK(hardware.link("rows").latency_s == 1);
  CHECK_THROWS_WITH_AS(hardware.link("cols"), doctest::Contains("no link for the axis 'cols'"), UserError);
  hardware.axes["*"].latency_s = 2;
  CHECK(hardware.link("rows").latency_s == 1);
  CHECK(hardware.link("cols").latency_s == 2);
}

TEST_CASE("a table is linear between its sizes, on logarithmic scales") {
  const ShareTable table{{{1, 100}, {10}, {4, 16}}, {0.01, 0.04, 0.25, 1}};
  const auto at = [&](double m, double n, double k) { return table.at(std::vector{m, n, k}); };
  CHECK(at(1, 10, 4) == doctest::Approx(0.01));
  CHECK(at(100, 10, 16) == doctest::Approx(1));
  CHECK(at(10, 10, 4) == doctest::Approx(0.05));
  CHECK(at(1, 10, 8) == doctest::Approx(0.02));
  CHECK(at(10, 10, 8) == doctest::Approx(0.1));
  CHECK(table.most() == 1);
  SUBCASE("and constant beyond them") {
    CHECK(at(1e6, 1, 1e6) == doctest::Approx(1));
    CHECK(at(0, 1e9, 1) == doctest::Approx(0.01));
  }
  SUBCASE("with factors of single sizes") {
    ShareTable bent = table;
    bent.factors = {Curve(1), Curve(2), Curve({{4, 1}, {8, 0.5}, {16, 1}})};
    const auto bent_at = [&](double m, double n, double k) { return bent.at(std::vector{m, n, k}); };
    CHECK(bent_at(1, 10, 4) == doctest::Approx(0.02));
    CHECK(bent_at(1, 10, 8) == doctest::Approx(0.02));
    CHECK(bent_at(100, 10, 16) == 1);
    bent.shares.back() = 0.25;
    CHECK(bent.most() == doctest::Approx(0.5));
  }
  SUBCASE("also of attention") {
    const ShareTable attention{{{1024, 4096}, {16}, {1}}, {0.2, 0.8}};
    CHECK(attention.at(std::vector{2048.0, 3.0, 4.0}) == doctest::Approx(0.4));
    CHECK(table_dims("attention_gradient") == std::vector<std::string>{"length", "heads", "group"});
    CHECK(table_dims("widened_einsum") == std::vector<std::string>{"m", "n", "k"});
    CHECK(table_dims("gelu").empty());
  }
}

}  // namespace mtfc::hardware_test
