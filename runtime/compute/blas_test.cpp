#include "runtime/compute/blas.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "core/op_rules/example.h"
#include "core/testing/sanitized.h"
#include "runtime/compute/widened_product.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::blas_test {
namespace {

struct Einsum {
  const char* first;
  const char* second;
  const char* result;
};

// An einsum with its operands, which take longer to make than the product.
KernelCall call_of(const Einsum& einsum, DType dtype, uint64_t seed,
                   ExampleOperand (*values)(std::string_view, DType) = steps) {
  const auto operand = [&](const char* dims, uint64_t which) {
    return example_tensor(values(dims, dtype), seed + which);
  };
  return {.op = "einsum",
          .attributes = {{"dims", dims_of(einsum.result)}},
          .operands = {operand(einsum.first, 0), operand(einsum.second, 1)}};
}

HostTensor product(const Einsum& einsum, DType dtype, uint64_t seed) {
  return call_kernel(call_of(einsum, dtype, seed)).result;
}

}  // namespace

TEST_CASE("products by OpenBLAS equal those by plain loops") {
  // Values are small integers, so that every order of summation gives the same; i64 uses loops.
  const Einsum cases[] = {
      {"i=67 k=131", "k=131 j=73", "i=67 j=73"},
      {"k=131 i=67", "k=131 j=73", "i=67 j=73"},
      {"i=67 k=131", "j=73 k=131", "i=67 j=73"},
      {"k=131 i=67", "j=73 k=131", "j=73 i=67"},
      {"b=9 i=31 k=33", "b=9 k=33 j=35", "b=9 i=31 j=35"},
      {"i=31 b=9 k=33", "j=35 k=33 b=9", "j=35 b=9 i=31"},
      {"i=31 k=33 l=5", "l=5 k=33 j=35", "i=31 j=35"},
      {"i=1 k=700", "k=700 j=3", "i=1 j=3"},
      {"i=700 k=33", "k=33", "i=700"},
      {"k=33 i=700", "k=33", "i=700"},
      {"k=33", "k=33 j=700", "j=700"},
      {"k=33", "j=700 k=33", "j=700"},
      {"k=33 b=20 i=30", "b=20 k=33", "i=30 b=20"},
      {"b=700 k=33", "b=700 k=33", "b=700"},
      {"k=5000", "k=5000", ""},
      {"k=70001", "k=70001", ""},
      {"i=2 k=1031", "k=1031 j=1019", "i=2 j=1019"},
      {"k=1031 i=7", "k=1031 j=517", "i=7 j=517"},
      {"i=3 k=2053", "j=521 k=2053", "i=3 j=521"},
      {"k=1031 i=1019", "k=1031 j=5", "i=1019 j=5"},
      {"i=1019 k=2053", "j=2 k=2053", "i=1019 j=2"},
      {"i=521 k=2053", "k=2053 b=3 j=4", "b=3 i=521 j=4"},
      {"b=2 k=1031 i=8", "k=1031 b=2 j=519", "i=8 b=2 j=519"},
      {"k=211", "k=211 j=307", "j=307"},
      {"k=211", "j=307 k=211", "j=307"},
      {"k=211 i=307", "k=211", "i=307"},
      {"b=3 k=211 i=7", "k=211 b=3", "i=7 b=3"},
      {"k=9001 i=7", "k=9001 j=5", "i=7 j=5"},
      {"i=7 k=9001", "j=5 k=9001", "j=5 i=7"},
      {"b=3 i=7 k=9001", "k=9001 b=3", "i=7 b=3"},
      {"i=7 k=9001 b=3", "b=3 j=5 k=9001", "i=7 j=5 b=3"},
      {"i=40 k=30 s=3", "k=30 t=5 j=50", "i=40 j=50"},
      {"i=400", "j=300", "j=300 i=400"},
  };
  for (const Einsum& einsum : cases) {
    CAPTURE(einsum.first);
    CAPTURE(einsum.second);
    CAPTURE(einsum.result);
    const std::vector<double> expected = numbers_of(product(einsum, DType::kI64, 5));
    CHECK(numbers_of(product(einsum, DType::kF32, 5)) == expected);
    CHECK(numbers_of(product(einsum, DType::kF64, 5)) == expected);
    CHECK(numbers_of(product(einsum, DType::kI32, 5)) == expected);
  }
}

// Values are small integers. Sums of more than 1024 products are made in several blocks.
TEST_CASE_TEMPLATE("products with narrow weights equal those by plain loops, however long their sums are", T,
                   Bf16, int8_t) {
  constexpr int64_t kRows = 21, kColumns = 35;
  for (const int64_t inner : {5, 1024, 1025, 2100})
    for (const bool transposed : {false, true}) {
      CAPTURE(inner);
      CAPTURE(transposed);
      const MatrixProduct sizes{.m = kRows,
                                .n = kColumns,
                                .k = inner,
                                .b_transposed = transposed,
                                .a_leading = inner,
                                .b_leading = transposed ? inner : kColumns,
                                .c_leading = kColumns};
      std::vector<float> a(kRows * inner), made(kRows * kColumns), expected(kRows * kColumns);
      std::vector<T> b(inner * kColumns);
      for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
      for (size_t i = 0; i < b.size(); ++i) b[i] = T(static_cast<float>(i % 5) - 2);
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t column = 0; column < kColumns; ++column)
          for (int64_t i = 0; i < inner; ++i)
            expected[row * kColumns + column] +=
                a[row * inner + i] *
                static_cast<float>(b[transposed ? column * inner + i : i * kColumns + column]);
      multiply_widened(sizes, a.data(), b.data(), made.data());
      CHECK(made == expected);
    }
}

TEST_CASE("products of several threads equal those by plain loops") {
  const Einsum cases[] = {
      {"i=1037 k=67", "k=67 j=131", "i=1037 j=131"},
      {"k=67 i=1037", "j=131 k=67", "i=1037 j=131"},
      {"i=1037 k=67", "j=1501 k=67", "i=1037 j=1501"},
      {"i=1037 b=5 k=131", "b=5 k=131 j=131", "i=1037 b=5 j=131"},
      {"k=131 b=5 i=1037", "j=131 b=5 k=131", "b=5 i=1037 j=131"},
      // Large enough for oneDNN, if the processor has AVX-512.
      {"b=3 i=140 k=90", "b=3 k=90 j=101", "b=3 i=140 j=101"},
      {"b=2 c=3 k=33 i=181", "c=3 b=2 j=190 k=33", "c=3 b=2 i=181 j=190"},
      {"i=140 b=3 k=90", "k=90 b=3 j=101", "i=140 b=3 j=101"},
      {"b=3 i=140 k=90", "j=101 k=90", "j=101 b=3 i=140"},
      {"i=512 k=32", "k=32 j=64", "i=512 j=64"},
      {"i=513 k=32", "k=32 j=65", "i=513 j=65"},
  };
  const int before = omp_get_max_threads();
  for (const Einsum& einsum : cases) {
    CAPTURE(einsum.first);
    CAPTURE(einsum.second);
    const std::vector<double> expected = numbers_of(product(einsum, DType::kI64, 5));
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const KernelCall call = call_of(einsum, dtype, 5);
      for (const int threads : kSanitized ? std::vector<int>{3} : std::vector<int>{1, 2, 3, 4}) {
        omp_set_num_threads(threads);
        CHECK(numbers_of(call_kernel(call).result) == expected);
      }
    }
    omp_set_num_threads(before);
  }
}

// The first dimension of both operands is a batch; the second counts rows, of which those beyond `filled` of every 7
// are zero.
HostTensor without_rows(const HostTensor& tensor, int64_t filled) {
  std::vector<double> numbers = numbers_of(tensor);
  const Dims& dims = tensor.type.dims;
  const int64_t rows = dims[1].size, size = dims[2].size;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / size;
    if (row % rows % 7 >= filled + row / rows) numbers[i] = 0;
  }
  return value_of(tensor.type, numbers);
}

TEST_CASE("products of matrices with many rows of zeros equal those by plain loops") {
  const Einsum cases[] = {
      {"b=4 i=300 k=70", "b=4 k=70 j=90", "b=4 i=300 j=90"},
      {"b=4 i=300 k=70", "b=4 j=90 k=70", "b=4 i=300 j=90"},
      {"b=4 k=300 i=70", "b=4 k=300 j=90", "b=4 i=70 j=90"},
  };
  const int before = omp_get_max_threads();
  for (const Einsum& einsum : cases)
    for (const int64_t filled : {0, 2, 4})
      for (const int threads : {1, 3}) {
        CAPTURE(einsum.first);
        CAPTURE(einsum.second);
        CAPTURE(filled);
        CAPTURE(threads);
        omp_set_num_threads(threads);
        const auto answer = [&](DType dtype) {
          KernelCall call = call_of(einsum, dtype, 5);
          call.operands[0] = without_rows(call.operands[0], filled);
          return numbers_of(call_kernel(call).result);
        };
        const std::vector<double> expected = answer(DType::kI64);
        CHECK(answer(DType::kF32) == expected);
        CHECK(answer(DType::kF64) == expected);
        omp_set_num_threads(before);
      }
}

TEST_CASE("products of floats are the same bits in every run, long sums also for every number of threads") {
  struct Case {
    Einsum einsum;
    bool any_threads;
  };
  const Case cases[] = {
      {{"i=300 k=310", "k=310 j=320", "i=300 j=320"}, false},
      {{"i=1037 k=310", "k=310 j=67", "i=1037 j=67"}, false},
      {{"b=3 k=90 i=140", "b=3 j=101 k=90", "b=3 i=140 j=101"}, false},
      {{"b=6 i=40 k=50", "b=6 k=50 j=60", "b=6 i=40 j=60"}, true},
      {{"k=9001 i=7", "k=9001 j=5", "i=7 j=5"}, true},
      {{"k=70001", "k=70001", ""}, true},
      {{"i=3 k=2053", "k=2053 j=521", "i=3 j=521"}, true},
      {{"k=1031 i=1019", "k=1031 j=5", "i=1019 j=5"}, true},
      {{"i=3 k=2053", "j=521 k=2053", "i=3 j=521"}, true},
  };
  const int before = omp_get_max_threads();
  for (const Case& tried : cases) {
    const Einsum& einsum = tried.einsum;
    CAPTURE(einsum.first);
    const KernelCall call = call_of(einsum, DType::kF32, 5, normal);
    std::vector<std::byte> first;
    for (const int threads : {1, 2, 3}) {
      omp_set_num_threads(threads);
      const std::vector<std::byte> once = call_kernel(call).result.data;
      for (int run = 0; run < (kSanitized ? 1 : 5); ++run) CHECK(call_kernel(call).result.data == once);
      if (threads == 1) first = once;
      if (tried.any_threads) CHECK(once == first);
    }
  }
  omp_set_num_threads(before);
}

TEST_CASE("an empty contracted part gives zeros, an empty result nothing") {
  const HostTensor x = example_tensor(normal("i=3 k=5"), 0), y = example_tensor(normal("k=5 j=7"), 1);
  const Attributes attributes = {{"dims", dims_of("i=3 j=7")}};
  const KernelAnswer zeros = call_kernel({.op = "einsum",
                                          .attributes = attributes,
                                          .operands = {x, y},
                                          .operand_boxes = {{{0, 3}, {2, 2}}, {{2, 2}, {0, 7}}}});
  CHECK(zeros.flops == 0);
  CHECK(numbers_of(zeros.result) == std::vector<double>(21, 0));
  const KernelAnswer nothing = call_kernel({.op = "einsum",
                                            .attributes = attributes,
                                            .operands = {x, y},
                                            .operand_boxes = {{{1, 1}, {0, 5}}, {{0, 5}, {0, 7}}},
                                            .result_box = Box{{1, 1}, {0, 7}}});
  CHECK(nothing.flops == 0);
}

TEST_CASE("plain products read transposed matrices and strided rows") {
  const double a[] = {1, 4, 2, 5, 3, 6}, b[] = {1, 0, 9, 0, 1, 9, 1, 1, 9};
  double c[6] = {-1, -1, -1, -1, -1, -1};
  multiply<double>(
      {.m = 2, .n = 2, .k = 3, .a_transposed = true, .a_leading = 2, .b_leading = 3, .c_leading = 3}, a, b,
      c);
  CHECK(c[0] == 4);
  CHECK(c[1] == 5);
  CHECK(c[2] == -1);
  CHECK(c[3] == 10);
  CHECK(c[4] == 11);
}

TEST_CASE("a product may be added to what is there") {
  // Shapes that go to plain loops, to a row times a column, to matrix times vector, to few rows, and to OpenBLAS.
  struct Shape {
    int64_t m, n, k;
  };
  for (const auto& [m, n, k] :
       {Shape{2, 3, 2}, Shape{1, 1, 70001}, Shape{40, 1, 33}, Shape{1, 40, 33}, Shape{3, 1500, 300},
        Shape{1500, 3, 300}, Shape{60, 70, 50}, Shape{5, 5, 0}}) {
    CAPTURE(m);
    CAPTURE(n);
    std::vector<double> a(static_cast<size_t>(m * k), 2), b(static_cast<size_t>(k * n), 3),
        c(static_cast<size_t>(m * n), 7);
    multiply<double>({.m = m,
                      .n = n,
                      .k = k,
                      .a_leading = std::max<int64_t>(1, k),
                      .b_leading = n,
                      .c_leading = n,
                      .adds = true},
                     a.data(), b.data(), c.data());
    CHECK(c == std::vector<double>(c.size(), 7 + 6 * static_cast<double>(k)));
  }
}

}  // namespace mtfc::blas_test
