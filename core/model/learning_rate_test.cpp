#include "core/model/learning_rate.h"

#include <doctest/doctest.h>

#include <cmath>

namespace mtfc::learning_rate_test {

TEST_CASE("the rate of each step, by hand") {
  const LearningRate cosine{1, {{ScheduleKind::kCosine, 1, 2, 6, 0}}};
  const LearningRate linear{1, {{ScheduleKind::kLinear, 1, 0, 4, 0.5}}};
  const LearningRate rsqrt{1, {{ScheduleKind::kRsqrt, 3, 4, 0, 0}}};
  const double root = std::sqrt(0.5) / 2;  // cos(pi / 4) / 2
  const double cosines[] = {0.5, 1, 0.5 + root, 0.5, 0.5 - root, 0, 0, 0};
  const double lines[] = {0.875, 0.75, 0.625, 0.5, 0.5, 0.5, 0.5, 0.5};
  for (int step = 1; step <= 8; ++step) {
    CHECK(cosine.at(step) == doctest::Approx(cosines[step - 1]));
    CHECK(linear.at(step) == doctest::Approx(lines[step - 1]));
  }
  CHECK(rsqrt.at(1) == 0.75);
  CHECK(rsqrt.at(4) == 3);
  CHECK(rsqrt.at(16) == 1.5);
  CHECK(LearningRate{0.25}.at(7) == 0.25);
}

TEST_CASE("a rate stays at its peak until the step `hold`, and rates are multiplied") {
  // GShard, appendix A.2, and T5: 1 / sqrt(max(step, 10000)).
  const LearningRate constant_then_rsqrt{1, {{ScheduleKind::kRsqrt, 0.01, 0, 0, 0, 10000}}};
  for (const double step : {1, 500, 9999, 10000, 10001, 40000, 1000000})
    CHECK(constant_then_rsqrt.at(step) == doctest::Approx(1 / std::sqrt(std::fmax(step, 10000))));
  const LearningRate trapezoid{2, {{ScheduleKind::kLinear, 1, 2, 8, 0, 4}}};
  const double rates[] = {1, 2, 2, 2, 1.5, 1, 0.5, 0, 0};
  for (int step = 1; step <= 9; ++step) CHECK(trapezoid.at(step) == doctest::Approx(rates[step - 1]));
  const LearningRate product{3,
                             {{ScheduleKind::kRsqrt, 1, 0, 0, 0, 4}, {ScheduleKind::kLinear, 1, 0, 20, 0}}};
  CHECK(product.at(2) == doctest::Approx(3 * 1 * 0.9));
  CHECK(product.at(16) == doctest::Approx(3 * 0.5 * 0.2));
}

}  // namespace mtfc::learning_rate_test
