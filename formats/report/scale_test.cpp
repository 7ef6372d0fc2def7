#include "formats/report/scale.h"

#include <doctest/doctest.h>

namespace mtfc::scale_test {

TEST_CASE("a scale is a little wider than its values, also if they are equal, and begins at 0 or above") {
  const Scale wide(1, 11);
  CHECK(wide.from == doctest::Approx(0.4));
  CHECK(wide.to == doctest::Approx(11.6));
  CHECK(wide.share(0.4) == doctest::Approx(0));
  CHECK(wide.share(6) == doctest::Approx(0.5));
  CHECK(wide.share(11.6) == doctest::Approx(1));
  const Scale equal(5, 5);
  CHECK(equal.share(5) == doctest::Approx(0.5));
  CHECK(Scale(0.01, 100).from == 0);
}

TEST_CASE("the numbers of a scale are round in its base") {
  const auto near = [](const std::vector<double>& numbers, const std::vector<double>& expected) {
    REQUIRE(numbers.size() == expected.size());
    for (size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == doctest::Approx(expected[i]));
  };
  near(round_numbers(Scale(1, 11), 10), {5, 10});
  near(round_numbers(Scale(1e-3, 3e-3), 10), {1e-3, 2e-3, 3e-3});
  near(round_numbers(Scale(1024, 4096), 2), {1024, 2048, 3072, 4096});
}

}  // namespace mtfc::scale_test
