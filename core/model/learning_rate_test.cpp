#include "core/model/learning_rate.h"

#include <doctest/doctest.h>

#include <cmath>

namespace mtfc::learning_rate_test {

TEST_CASE("the rate of each step, by hand") {
  const LearningRate cosine{Schedule{ScheduleKind::kCosine, 1, 2, 6, 0}, 0};
  const LearningRate linear{Schedule{ScheduleKind::kLinear, 1, 0, 4, 0.5}, 0};
  const LearningRate rsqrt{Schedule{ScheduleKind::kRsqrt, 3, 4, 0, 0}, 0};
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
  CHECK(LearningRate{std::nullopt, 0.25}.at(7) == 0.25);
}

}  // namespace mtfc::learning_rate_test
