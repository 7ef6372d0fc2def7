#include "runtime/compute/random.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace mtfc {
namespace {

using Words = std::array<uint32_t, 4>;

}  // namespace

TEST_CASE("philox gives the published answers") {  // kat_vectors of Random123
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("distributions have their moments and bounds") {
  constexpr int64_t kCount = 200000;
  const RandomNumbers numbers(stable_hash("x"), 1, 0);
  double uniform = 0, normal = 0, square = 0, truncated = 0, largest = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const auto index = static_cast<uint64_t>(i);
    const double u = numbers.uniform(index), z = numbers.normal(index), t = numbers.truncated_normal(index);
    CHECK_MESSAGE((u >= 0 && u < 1), u);
    uniform += u / kCount;
    normal += z / kCount;
    square += z * z / kCount;
    truncated += t * t / kCount;
    largest = std::max(largest, std::abs(t));
  }
  CHECK(uniform == doctest::Approx(0.5).epsilon(0.01));
  CHECK(std::abs(normal) < 0.01);
  CHECK(square == doctest::Approx(1).epsilon(0.02));
  CHECK(truncated == doctest::Approx(0.774).epsilon(0.02));  // variance of a normal cut at two deviations
  CHECK(largest <= 2);
  CHECK(largest > 1.99);
}

TEST_CASE("seed, name, step and index each give other numbers") {
  const RandomNumbers numbers(stable_hash("x"), 1, 0);
  CHECK(numbers.uniform(0) != numbers.uniform(1));
  CHECK(numbers.uniform(0) != numbers.uniform(2));
  CHECK(numbers.uniform(0) != RandomNumbers(stable_hash("y"), 1, 0).uniform(0));
  CHECK(numbers.uniform(0) != RandomNumbers(stable_hash("x"), 2, 0).uniform(0));
  CHECK(numbers.uniform(0) != RandomNumbers(stable_hash("x"), 1, 1).uniform(0));
  CHECK(numbers.uniform(0) != RandomNumbers(stable_hash("x"), 1, int64_t{1} << 32).uniform(0));
  CHECK(numbers.uniform(0) == RandomNumbers(stable_hash("x"), 1, 0).uniform(0));
}

}  // namespace mtfc
