#include "runtime/compute/thin_product.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <random>
#include <vector>

namespace mtfc::thin_product_test {
namespace {

// A product with gaps between the rows of all three matrices.
struct Case {
  ThinProduct product;
  size_t few_size, wide_size, result_size;
};

Case make_case(int64_t few, int64_t wide, int64_t inner, bool inner_side_by_side) {
  const int64_t leading = (inner_side_by_side ? inner : wide) + 3;
  return {{.few = few,
           .wide = wide,
           .inner = inner,
           .inner_side_by_side = inner_side_by_side,
           .leading = leading,
           .few_step = inner + 2,
           .few_inner_step = 1,
           .result_few_step = wide + 1,
           .result_wide_step = 1},
          static_cast<size_t>(few * (inner + 2)),
          static_cast<size_t>(leading * (inner_side_by_side ? wide : inner)),
          static_cast<size_t>(few * (wide + 1))};
}

template <typename T, typename W>
void check(const Case& c) {
  const ThinProduct& p = c.product;
  CAPTURE(p.few);
  CAPTURE(p.wide);
  CAPTURE(p.inner);
  CAPTURE(p.inner_side_by_side);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> draw(-100, 100);
  std::vector<T> few(c.few_size);
  std::vector<W> wide(c.wide_size);
  for (T& value : few) value = static_cast<T>(draw(random));
  for (W& value : wide) value = static_cast<W>(static_cast<float>(draw(random)));
  const auto run = [&](int threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    std::vector<T> result(c.result_size, T{-1});
    multiply_thin(p, few.data(), wide.data(), result.data());
    omp_set_num_threads(before);
    return result;
  };
  const std::vector<T> result = run(1);
  const double rounding = std::is_same_v<T, float> ? 1e-6 : 1e-14;
  bool is_right = true;
  for (int64_t r = 0; r < p.few; ++r)
    for (int64_t j = 0; j < p.wide; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < p.inner; ++l) {
        const auto at = static_cast<size_t>(p.inner_side_by_side ? j * p.leading + l : l * p.leading + j);
        const double term = static_cast<double>(few[static_cast<size_t>(r * p.few_step + l)]) *
                            static_cast<double>(static_cast<T>(wide[at]));
        sum += term;
        size += std::abs(term);
      }
      const double found = result[static_cast<size_t>(r * p.result_few_step + j)];
      is_right = is_right && std::abs(found - sum) <= rounding * size;
    }
  CHECK(is_right);
  for (int64_t r = 0; r < p.few; ++r)
    CHECK(result[static_cast<size_t>(r * p.result_few_step + p.wide)] == -1);
  for (const int threads : {2, 3, 9}) CHECK(run(threads) == result);
}

}  // namespace

TEST_CASE(
    "products of few rows are right for every layout and type, and the same for all numbers of threads") {
  for (const int64_t few : {1, 2, 3, 4})
    for (const auto& [wide, inner] :
         {std::pair<int64_t, int64_t>{801, 1333}, {70, 5000}, {5003, 130}, {64, 64}})
      for (const bool inner_side_by_side : {false, true}) {
        const Case c = make_case(few, wide, inner, inner_side_by_side);
        check<float, float>(c);
        check<double, double>(c);
        check<float, Bf16>(c);
        check<float, int8_t>(c);
      }
  check<float, float>(make_case(11, 900, 700, false));
}

}  // namespace mtfc::thin_product_test
