#include "runtime/compute/dropout_draws.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/tensors/random_bits.h"
#include "runtime/compute/random.h"

namespace mtfc::dropout_draws_test {
namespace {

// Draw i of a row, one at a time.
double drawn(int64_t row_number, int64_t i) {
  const uint64_t key = mixed(static_cast<uint64_t>(row_number)),
                 block = static_cast<uint64_t>(i / 64 * 16 + i % 16);
  const auto words = philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0},
                                {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
  return words[static_cast<size_t>(i / 16 % 4)] * 0x1p-32;
}

}  // namespace

TEST_CASE("any part of a row has the same draws as the row") {
  constexpr double kRate = 0.3;
  for (const Interval columns :
       {Interval{0, 300}, Interval{0, 1}, Interval{63, 65}, Interval{17, 17}, Interval{130, 131},
        Interval{(int64_t{1} << 35) - 3, (int64_t{1} << 35) + 90}})
    for (const int64_t row : {int64_t{0}, int64_t{7}, int64_t{-1}, int64_t{1} << 52}) {
      std::vector<float> floats(static_cast<size_t>(columns.size()) + 1, -1);
      std::vector<double> doubles(floats.size(), -1);
      dropout_factors(row, kRate, columns, floats.data());
      dropout_factors(row, kRate, columns, doubles.data());
      for (int64_t i = columns.begin; i < columns.end; ++i) {
        const auto at = static_cast<size_t>(i - columns.begin);
        CHECK(doubles[at] == (drawn(row, i) < kRate ? 0 : 1 / (1 - kRate)));
        CHECK(floats[at] == static_cast<float>(doubles[at]));
      }
      CHECK(floats.back() == -1);
      CHECK(doubles.back() == -1);
    }
}

TEST_CASE("dropout keeps its share of every row, and rows differ") {
  constexpr int64_t kSize = 20000;
  std::vector<float> before(kSize), row(kSize);
  for (const double rate : {1e-4, 0.1, 0.5, 0.9, 1 - 1e-9})
    for (int64_t number = 0; number < 4; ++number) {
      dropout_factors(number, rate, {0, kSize}, row.data());
      double dropped = 0, equal = 0;
      for (size_t i = 0; i < row.size(); ++i) {
        dropped += row[i] == 0;
        equal += (row[i] == 0) == (before[i] == 0);
      }
      const double count = kSize, chance = rate * rate + (1 - rate) * (1 - rate);
      CHECK(std::abs(dropped - count * rate) <= 5 * std::sqrt(count * rate * (1 - rate)) + 1);
      if (number > 0)
        CHECK(std::abs(equal - count * chance) <= 5 * std::sqrt(count * chance * (1 - chance)) + 1);
      std::swap(before, row);
    }
}

}  // namespace mtfc::dropout_draws_test
