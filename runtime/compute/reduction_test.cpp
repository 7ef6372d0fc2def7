#include "runtime/compute/reduction.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "core/op_rules/example.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::reduction_test {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> reduce(std::string_view op, const TensorType& type, const std::vector<double>& x,
                           const Attributes& attributes = {}) {
  return numbers_of(
      call_kernel({.op = op, .attributes = attributes, .operands = {value_of(type, x)}}).result);
}

std::vector<double> of_nothing(std::string_view op, DType dtype) {
  const TensorType type{dtype, dims_of("a=3 b=2")};
  return numbers_of(call_kernel({.op = op,
                                 .attributes = {{"over", dims_of("a=3")}},
                                 .operands = {HostTensor(type)},
                                 .operand_boxes = {{{1, 1}, {0, 2}}}})
                        .result);
}

std::vector<double> with_threads(int threads, const KernelCall& call) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  const std::vector<double> numbers = numbers_of(call_kernel(call).result);
  omp_set_num_threads(before);
  return numbers;
}

}  // namespace

TEST_CASE("nothing reduced gives the identity") {
  CHECK(of_nothing("reduce_sum", DType::kF32) == std::vector<double>{0, 0});
  CHECK(of_nothing("reduce_mean", DType::kF32) == std::vector<double>{0, 0});
  CHECK(of_nothing("reduce_max", DType::kF32) == std::vector<double>{-kInfinity, -kInfinity});
  CHECK(of_nothing("reduce_min", DType::kF64) == std::vector<double>{kInfinity, kInfinity});
  CHECK(of_nothing("reduce_prod", DType::kF32) == std::vector<double>{1, 1});
  CHECK(of_nothing("reduce_prod", DType::kI64) == std::vector<double>{1, 1});
  CHECK(of_nothing("reduce_any", DType::kBool) == std::vector<double>{0, 0});
  CHECK(of_nothing("reduce_all", DType::kBool) == std::vector<double>{1, 1});
  CHECK(of_nothing("reduce_max", DType::kI32) == std::vector<double>(2, -0x1p31));
  CHECK(of_nothing("reduce_min", DType::kI32) == std::vector<double>(2, 0x1p31 - 1));
}

TEST_CASE("one not-a-number anywhere is the maximum and the minimum") {
  const TensorType type{DType::kF32, {{"a", 40}}};
  for (size_t at = 0; at < 40; ++at) {
    std::vector<double> x(40, 1);
    x[(at + 1) % 40] = kInfinity;
    x[at] = kNaN;
    CHECK(std::isnan(reduce("reduce_max", type, x)[0]));
    CHECK(std::isnan(reduce("reduce_min", type, x)[0]));
  }
}

TEST_CASE("the mean of a part is divided by the size of the whole") {
  const HostTensor x = value_of({DType::kF64, {{"a", 4}}}, {1, 2, 3, 6});
  const auto part = [&](Interval held) {
    return element(call_kernel({.op = "reduce_mean", .operands = {x}, .operand_boxes = {{held}}}).result, 0);
  };
  CHECK(part({0, 1}) == 0.25);
  CHECK(part({0, 1}) + part({1, 4}) == 3);
}

TEST_CASE("long sums of f32 keep their digits") {
  const int64_t count = 1'000'000;
  const TensorType type{DType::kF32, {{"a", count}}};
  const std::vector<double> tenths(static_cast<size_t>(count), 0.1);
  CHECK(reduce("reduce_sum", type, tenths)[0] == static_cast<double>(static_cast<float>(0.1F * 1e6)));
  const TensorType columns{DType::kF32, {{"a", count / 2}, {"b", 2}}};
  const std::vector<double> sums = reduce("reduce_sum", columns, tenths, {{"over", Dims{{"a", count / 2}}}});
  CHECK(sums == std::vector<double>(2, static_cast<double>(static_cast<float>(0.1F * 5e5))));
}

TEST_CASE("sums of integers wrap around") {
  const TensorType type{DType::kI32, {{"a", 3}}};
  CHECK(reduce("reduce_sum", type, {0x1p31 - 1, 0x1p31 - 1, 5}) == std::vector<double>{3});
}

TEST_CASE("results do not depend on the number of threads") {
  const HostTensor x = example_tensor(normal("a=300 b=37 c=41", DType::kF32), 0);
  for (const char* dims : {"", "a=300", "b=37", "c=41", "c=41 a=300", "a=300 b=37", "b=37 c=41"})
    for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max"}) {
      CAPTURE(dims);
      CAPTURE(op);
      const KernelCall call{.op = op, .attributes = {{"dims", dims_of(dims)}}, .operands = {x}};
      CHECK(with_threads(1, call) == with_threads(2, call));
      CHECK(with_threads(1, call) == with_threads(3, call));
    }
}

TEST_CASE("large reductions agree with plain loops in every order of dimensions") {
  const HostTensor x = example_tensor(steps("a=70 b=37 c=41", DType::kI64), 0);
  const int64_t* data = x.as<int64_t>();
  std::vector<double> sums(70 * 41);
  double all = 0;
  for (size_t a = 0; a < 70; ++a)
    for (size_t b = 0; b < 37; ++b)
      for (size_t c = 0; c < 41; ++c) {
        const auto value = static_cast<double>(data[(a * 37 + b) * 41 + c]);
        sums[c * 70 + a] += value;
        all += value;
      }
  CHECK(numbers_of(
            call_kernel({.op = "reduce_sum", .attributes = {{"dims", dims_of("c=41 a=70")}}, .operands = {x}})
                .result) == sums);
  CHECK(numbers_of(call_kernel({.op = "reduce_sum", .operands = {x}}).result) == std::vector<double>{all});
}

TEST_CASE("products: zeros, not-a-number, and integers that wrap around") {
  const TensorType type{DType::kF32, {{"a", 3}}};
  CHECK(reduce("reduce_prod", type, {2, -3, 4}) == std::vector<double>{-24});
  CHECK(reduce("reduce_prod", type, {2, 0, 4}) == std::vector<double>{0});
  CHECK(reduce("reduce_prod", type, {0x1p100, 0x1p100, 0x1p-100}) == std::vector<double>{0x1p100});
  CHECK(std::isnan(reduce("reduce_prod", type, {0, kNaN, 1})[0]));
  CHECK(reduce("reduce_prod", {DType::kI32, {{"a", 3}}}, {65536, 32768, 3}) == std::vector<double>{-0x1p31});
}

TEST_CASE("one flag is enough, in any place of a long row") {
  const TensorType type{DType::kBool, {{"a", 40}}};
  for (size_t at = 0; at < 40; ++at) {
    std::vector<double> one(40, 0), all_but_one(40, 1);
    one[at] = 1;
    all_but_one[at] = 0;
    CHECK(reduce("reduce_any", type, one) == std::vector<double>{1});
    CHECK(reduce("reduce_all", type, all_but_one) == std::vector<double>{0});
  }
  CHECK(reduce("reduce_any", type, std::vector<double>(40, 0)) == std::vector<double>{0});
  CHECK(reduce("reduce_all", type, std::vector<double>(40, 1)) == std::vector<double>{1});
}

}  // namespace mtfc::reduction_test
