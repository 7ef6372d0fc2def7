#include <doctest/doctest.h>

#include "runtime/calibrate/calibration_parts.h"

namespace mtfc::collective_calibration_test {

TEST_CASE("latency and bandwidth come back from times made of them, never below zero") {
  const auto samples = [](double alpha, double beta) {
    std::vector<LinkSample> made;
    for (const double messages : {1.0, 2.0})
      for (double bytes = 64; bytes < 1e7; bytes *= 8)
        made.push_back({messages, bytes, messages * alpha + bytes * beta});
    return made;
  };
  const auto [alpha, beta] = fit_line(samples(3e-6, 2e-10));
  CHECK(alpha == doctest::Approx(3e-6));
  CHECK(beta == doctest::Approx(2e-10));
  std::vector<LinkSample> falling = samples(1e-3, 0);
  for (LinkSample& sample : falling) sample.seconds -= sample.bytes * 5e-11;
  CHECK(fit_line(falling).first > 0);
  CHECK(fit_line(falling).second == 0);
}

}  // namespace mtfc::collective_calibration_test
