#include "runtime/generate/sampling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace mtfc::sampling_test {
namespace {

const std::vector<double> kLogits = {std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.3)};

SamplingOptions drawn(double temperature, int64_t top_k) {
  return {false, temperature, top_k};
}

}  // namespace

TEST_CASE("the likeliest token is the lowest of equal ones") {
  CHECK(likeliest(std::vector<double>{1, 3, 2, 3}) == 1);
  CHECK(sample_token(std::vector<double>{1, 3, 2, 3}, {true, 1, 0}, 0.99) == 1);
}

TEST_CASE("a token is drawn with its probability") {
  std::vector<int> counts(4);
  for (int i = 0; i < 1000; ++i)
    ++counts[static_cast<size_t>(sample_token(kLogits, drawn(1, 0), i / 1000.0))];
  CHECK(std::abs(counts[0] - 100) <= 1);
  CHECK(std::abs(counts[1] - 400) <= 1);
  CHECK(std::abs(counts[2] - 200) <= 1);
  CHECK(std::abs(counts[3] - 300) <= 1);
}

TEST_CASE("temperature raises probabilities to a power, and top-k leaves the likeliest") {
  std::vector<int> half(4), two(4);
  for (int i = 0; i < 3000; ++i) {
    ++half[static_cast<size_t>(sample_token(kLogits, drawn(0.5, 0), i / 3000.0))];
    ++two[static_cast<size_t>(sample_token(kLogits, drawn(1, 2), i / 3000.0))];
  }
  CHECK(std::abs(half[0] - 100) <= 1);  // 0.01 divided by 0.01 + 0.16 + 0.04 + 0.09
  CHECK(std::abs(half[1] - 1600) <= 1);
  CHECK(two[0] + two[2] == 0);
  CHECK(std::abs(two[1] - 3000 * 4 / 7) <= 1);
  CHECK(sample_token(std::vector<double>{5, 7, 7, 7}, drawn(1, 1), 0.999) == 1);
}

TEST_CASE("what can't come is not drawn at the ends of the range") {
  const double never = -std::numeric_limits<double>::infinity();
  const std::vector<double> logits = {never, 1, 1, never};
  CHECK(sample_token(logits, drawn(1, 0), 0) == 1);
  CHECK(sample_token(logits, drawn(1, 0), std::nextafter(1.0, 0.0)) == 2);
}

TEST_CASE("log probabilities of large logits add up to one") {
  double sum = 0;
  for (const double value : log_probabilities(std::vector<double>{1000, 1001, 999})) sum += std::exp(value);
  CHECK(sum == doctest::Approx(1).epsilon(1e-12));
}

}  // namespace mtfc::sampling_test
