#include "runtime/compute/onednn.h"

#include <doctest/doctest.h>

#include <vector>

namespace mtfc::onednn_test {
namespace {

// Small integers, so that every order of summation gives the same.
std::vector<float> numbers(int64_t count, int64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = static_cast<float>((i * 31 + seed) % 11 - 5);
  return values;
}

}  // namespace

TEST_CASE("products of sizes known late, by oneDNN where it is faster, equal those by OpenBLAS") {
  SizedProducts products;
  for (int turn = 0; turn < 2; ++turn)  // the second one finds what the first one made
    for (const int64_t rows : {16, 64, 192})
      for (const bool b_transposed : {false, true})
        for (const bool adds : {false, true}) {
          CAPTURE(rows);
          CAPTURE(adds);
          const int64_t n = 96, k = 200;
          const MatrixProduct product = {.m = rows,
                                         .n = n,
                                         .k = k,
                                         .b_transposed = b_transposed,
                                         .a_leading = k,
                                         .b_leading = b_transposed ? k : n,
                                         .c_leading = n + 3,
                                         .adds = adds};
          const std::vector<float> a = numbers(rows * k, turn), b = numbers(k * n, 7);
          std::vector<float> c = numbers(rows * (n + 3), 4), expected = c;
          multiply(product, a.data(), b.data(), expected.data());
          products.multiply(product, a.data(), b.data(), c.data());
          CHECK(c == expected);
        }
}

}  // namespace mtfc::onednn_test
