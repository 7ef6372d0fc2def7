#include "runtime/compute/filled_rows.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

namespace mtfc::filled_rows_test {
namespace {

struct Case {
  MatrixProduct product;
  int64_t filled_of_8;  // rows that are not zero, of every 8
};

// Some have more rows than are copied at a time.
const MatrixProduct kProducts[] = {
    {.m = 257, .n = 70, .k = 90, .a_leading = 95, .b_leading = 71, .c_leading = 73},
    {.m = 257, .n = 70, .k = 90, .b_transposed = true, .a_leading = 90, .b_leading = 92, .c_leading = 70},
    {.m = 5000, .n = 65, .k = 40, .a_leading = 40, .b_leading = 65, .c_leading = 65},
    {.m = 70, .n = 90, .k = 257, .a_transposed = true, .a_leading = 73, .b_leading = 91, .c_leading = 95},
    {.m = 65, .n = 80, .k = 5000, .a_transposed = true, .a_leading = 65, .b_leading = 80, .c_leading = 80},
};

constexpr int64_t kNone = 1000;  // in place of what a product writes

// Small integers, so that every order of summation gives the same.
std::vector<float> matrix(int64_t rows, int64_t columns, int64_t leading, int64_t filled_of_8) {
  std::vector<float> values(static_cast<size_t>(rows * leading), 7);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < columns; ++i)
      values[static_cast<size_t>(r * leading + i)] =
          r * 5 % 8 < filled_of_8 ? static_cast<float>((r * 31 + i * 17) % 9 - 4) : 0.0F;
  return values;
}

struct Matrices {
  std::vector<float> a, b, c, expected;
};

Matrices matrices_of(const Case& test) {
  const MatrixProduct& p = test.product;
  Matrices m;
  m.a = p.a_transposed ? matrix(p.k, p.m, p.a_leading, test.filled_of_8)
                       : matrix(p.m, p.k, p.a_leading, test.filled_of_8);
  m.b = p.b_transposed ? matrix(p.n, p.k, p.b_leading, 8) : matrix(p.k, p.n, p.b_leading, 8);
  m.c.assign(static_cast<size_t>(p.m * p.c_leading), kNone);
  m.expected = m.c;
  multiply(p, m.a.data(), m.b.data(), m.expected.data());
  return m;
}

}  // namespace

TEST_CASE("products without rows of zeros equal those with them") {
  for (const int64_t filled : {0, 1, 3, 8})
    for (const int64_t unit : {1, 64})
      for (const MatrixProduct& product : kProducts) {
        CAPTURE(filled);
        CAPTURE(unit);
        CAPTURE(product.m);
        Matrices m = matrices_of({product, filled});
        CHECK(share_empty(product, m.a.data(), m.b.data()) ==
              doctest::Approx(1 - static_cast<double>(filled) / 8).epsilon(0.1));
        std::vector<float> copies;
        multiply_filled<float>(
            product, m.a.data(), m.b.data(), m.c.data(), unit,
            [&](const MatrixProduct& part, const float* a, const float* b, float* c) {
              if (filled < 8) CHECK((product.a_transposed ? part.k : part.m) % unit == 0);
              multiply(part, a, b, c);
            },
            copies);
        CHECK(m.c == m.expected);
      }
}

TEST_CASE("a contracted row is left out if either of its two parts is zero") {
  const MatrixProduct product = {
      .m = 64, .n = 64, .k = 512, .a_transposed = true, .a_leading = 64, .b_leading = 64, .c_leading = 64};
  Matrices m = matrices_of({product, 8});
  for (size_t i = 0; i < 400 * 64; ++i) m.b[i] = 0;
  m.a[0] = std::numeric_limits<float>::infinity();
  multiply(product, m.a.data(), m.b.data(), m.expected.data());
  CHECK(m.expected[0] != m.expected[0]);
  CHECK(share_empty(product, m.a.data(), m.b.data()) > 0.75);
  int64_t computed = 0;
  std::vector<float> copies;
  multiply_filled<float>(
      product, m.a.data(), m.b.data(), m.c.data(), 1,
      [&](const MatrixProduct& part, const float* a, const float* b, float* c) {
        computed += part.k;
        multiply(part, a, b, c);
      },
      copies);
  CHECK(computed == 112);
  m.a[0] = 0;
  multiply(product, m.a.data(), m.b.data(), m.expected.data());
  CHECK(m.c == m.expected);
}

TEST_CASE(
    "no rows are left out of small and narrow products, of those that add, and where rows do not lie side by "
    "side") {
  const std::vector<float> zeros(512 * 512);
  MatrixProduct product = {
      .m = 512, .n = 512, .k = 512, .a_leading = 512, .b_leading = 512, .c_leading = 512};
  CHECK(share_empty(product, zeros.data(), zeros.data()) == 1);
  product.adds = true;
  CHECK(share_empty(product, zeros.data(), zeros.data()) == 0);
  product.adds = false;
  product.a_transposed = product.b_transposed = true;
  CHECK(share_empty(product, zeros.data(), zeros.data()) == 0);
  product.a_transposed = product.b_transposed = false;
  product.n = 32;
  CHECK(share_empty(product, zeros.data(), zeros.data()) == 0);
  product.n = 512;
  product.m = 32;
  CHECK(share_empty(product, zeros.data(), zeros.data()) == 0);
}

}  // namespace mtfc::filled_rows_test
