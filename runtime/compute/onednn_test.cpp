#include "runtime/compute/onednn.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/tensors/bf16.h"

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

// Sums of small integers are exact in f32, so that only the last rounding to bf16 counts.
TEST_CASE_TEMPLATE("products of bf16 by oneDNN equal those in f32", T, float, Bf16) {
  int computed = 0;
  for (const bool b_is_shared : {false, true})
    for (const int64_t k : {64, 331})  // pairs of elements, and an element more
      for (const bool a_transposed : {false, true})
        for (const bool b_transposed : {false, true})
          for (const bool adds : {false, true}) {
            CAPTURE(b_is_shared);
            CAPTURE(k);
            CAPTURE(a_transposed);
            CAPTURE(b_transposed);
            CAPTURE(adds);
            const int64_t count = 3, m = 150, n = 353;
            const MatrixProduct product = {.m = m,
                                           .n = n,
                                           .k = k,
                                           .a_transposed = a_transposed,
                                           .b_transposed = b_transposed,
                                           .a_leading = a_transposed ? m : k,
                                           .b_leading = b_transposed ? k : n,
                                           .c_leading = n,
                                           .adds = adds};
            const LoopNest batch = {{count}, {{m * k}, {b_is_shared ? 0 : k * n}, {m * n}}};
            const auto by_onednn = BatchedProduct::prepare(
                product, batch,
                {.operands = DType::kBF16, .result = std::is_same_v<T, Bf16> ? DType::kBF16 : DType::kF32});
            if (!by_onednn) continue;
            ++computed;
            const std::vector<float> a = numbers(count * m * k, 3), b = numbers(count * k * n, 7);
            std::vector<float> expected = numbers(count * m * n, 4);
            const std::vector<Bf16> narrow_a(a.begin(), a.end()), narrow_b(b.begin(), b.end());
            std::vector<T> result(expected.begin(), expected.end());
            by_onednn->run(narrow_a.data(), narrow_b.data(), result.data());
            for (int64_t i = 0; i < count; ++i)
              multiply(product, a.data() + i * m * k, b.data() + (b_is_shared ? 0 : i * k * n),
                       expected.data() + i * m * n);
            CHECK(result == std::vector<T>(expected.begin(), expected.end()));
          }
  MESSAGE("of 32 kinds of products of bf16, oneDNN computes ", computed, " on this processor");
}

}  // namespace mtfc::onednn_test
