#include "runtime/compute/elementwise.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/op_rules/example.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::elementwise_test {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> apply(std::string_view op, DType dtype, const std::vector<std::vector<double>>& operands,
                          const Attributes& attributes = {}) {
  KernelCall call{.op = op, .attributes = attributes};
  for (const std::vector<double>& x : operands)
    call.operands.push_back(value_of({dtype, {{"a", static_cast<int64_t>(x.size())}}}, x));
  return numbers_of(call_kernel(call).result);
}

double apply_comparison(std::string_view op, double a, double b) {
  return apply(op, DType::kF64, {{a}, {b}})[0];
}

/// Position of element (i, j, k) of a=70 b=37 c=41 in a tensor of some of these dimensions.
int64_t place(const Dims& dims, int64_t i, int64_t j, int64_t k) {
  int64_t at = 0;
  for (const Dim& dim : dims) at = at * dim.size + (dim.name == "a" ? i : dim.name == "b" ? j : k);
  return at;
}

}  // namespace

TEST_CASE("large operands align in any order of dimensions, over tiles and threads") {
  const char* shapes[] = {"a=70 b=37 c=41", "c=41 b=37 a=70", "b=37 a=70 c=41", "c=41", "b=37",
                          "a=70",           "a=70 c=41",      "c=41 a=70",      ""};
  const HostTensor x = example_tensor(steps("a=70 b=37 c=41"), 0);
  for (const char* shape : shapes) {
    CAPTURE(shape);
    const HostTensor y = example_tensor(steps(shape), 1);
    const HostTensor z = call_kernel({.op = "sub", .operands = {x, y}}).result;
    bool same = true;
    for (int64_t i = 0; i < 70; ++i)
      for (int64_t j = 0; j < 37; ++j)
        for (int64_t k = 0; k < 41; ++k)
          same =
              same && element(z, place(z.type.dims, i, j, k)) ==
                          element(x, place(x.type.dims, i, j, k)) - element(y, place(y.type.dims, i, j, k));
    CHECK(same);
  }
}

TEST_CASE("the result may take the place of an operand of the same order") {
  const TensorType type{DType::kF32, {{"a", 50000}}};
  const TensorType scalar{DType::kF32, {}};
  HostTensor x = example_tensor({type, Fill::kNormal, 0}, 0);
  const HostTensor before = x;
  const HostTensor y = example_tensor({scalar, Fill::kNormal, 0}, 1);
  const Attributes none;
  const KernelSite site{
      none, {{type, whole_box(type.dims)}, {scalar, {}}}, {{type, whole_box(type.dims)}}, "x", 0};
  const std::byte* operands[] = {x.data.data(), y.data.data()};
  std::byte* result = x.data.data();
  prepare_kernel("mul", site)({operands, {&result, 1}, nullptr, 0, 0});
  bool same = true;
  for (int64_t i = 0; i < 50000; ++i)
    same = same && x.as<float>()[i] == before.as<float>()[i] * *y.as<float>();
  CHECK(same);
}

TEST_CASE("maximum and relu pass a not-a-number on") {
  CHECK(std::isnan(apply("maximum", DType::kF32, {{kNaN}, {1}})[0]));
  CHECK(std::isnan(apply("maximum", DType::kF32, {{1}, {kNaN}})[0]));
  CHECK(std::isnan(apply("relu", DType::kF64, {{kNaN}})[0]));
  CHECK(apply("equal", DType::kF64, {{kNaN}, {kNaN}})[0] == 0);
}

TEST_CASE("integers wrap around") {
  const double largest = 0x1p31 - 1;
  CHECK(apply("add", DType::kI32, {{largest}, {1}})[0] == -0x1p31);
  CHECK(apply("sub", DType::kI32, {{-0x1p31}, {1}})[0] == largest);
  CHECK(apply("mul", DType::kI32, {{65536}, {65536}})[0] == 0);
  CHECK(apply("neg", DType::kI32, {{-0x1p31}})[0] == -0x1p31);
  CHECK(apply("square", DType::kI32, {{65537}})[0] == 131073);
}

TEST_CASE("a cast cuts towards zero and stays in range") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(apply("cast", DType::kF64, {{1.9, -1.9, 3e9, -3e9, kNaN, inf, -inf, 2147483647.5}},
              {{"dtype", DType::kI32}}) ==
        std::vector<double>{1, -1, 0x1p31 - 1, -0x1p31, 0, 0x1p31 - 1, -0x1p31, 0x1p31 - 1});
  CHECK(apply("cast", DType::kF32, {{1e30, -1e30, kNaN}}, {{"dtype", DType::kI64}}) ==
        std::vector<double>{0x1p63, -0x1p63, 0});
  CHECK(apply("cast", DType::kF32, {{0, 0.5, -2}}, {{"dtype", DType::kBool}}) ==
        std::vector<double>{0, 1, 1});
}

TEST_CASE("parts of nothing compute nothing") {
  const HostTensor x = example_tensor(normal("a=3 b=5"), 0);
  const KernelAnswer answer = call_kernel({.op = "add",
                                           .operands = {x, x},
                                           .operand_boxes = {{{1, 1}, {0, 5}}, {{1, 1}, {0, 5}}},
                                           .result_box = Box{{1, 1}, {0, 5}}});
  CHECK(answer.flops == 0);
}

TEST_CASE("activations stay exact and finite far from 0") {
  const std::vector<double> far = {-1000, -40, 40, 1000};
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    CAPTURE(static_cast<int>(dtype));
    const double tiny = dtype == DType::kF32 ? static_cast<double>(std::exp(-40.0F)) : std::exp(-40.0);
    const auto check = [&](std::string_view op, const std::vector<double>& expected) {
      const std::vector<double> values = apply(op, dtype, {far});
      for (size_t i = 0; i < far.size(); ++i) {
        CAPTURE(op);
        CAPTURE(i);
        CHECK(std::abs(values[i] - expected[i]) <= 1e-6 * std::abs(expected[i]));
      }
    };
    check("sigmoid", {0, tiny, 1, 1});
    check("silu", {0, -40 * tiny, 40, 1000});
    check("softplus", {0, tiny, 40, 1000});
    check("gelu", {0, 0, 40, 1000});
  }
  CHECK(apply("gelu", DType::kF64, {{-10}})[0] == doctest::Approx(-7.61985302416052e-23).scale(1e-23));
}

TEST_CASE("halves are rounded to even, and floor and ceil go their ways") {
  const std::vector<double> x = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, -2.6};
  CHECK(apply("round", DType::kF32, {x}) == std::vector<double>{-2, -2, 0, 0, 2, 2, 2, -3});
  CHECK(apply("floor", DType::kF64, {x}) == std::vector<double>{-3, -2, -1, 0, 1, 2, 2, -3});
  CHECK(apply("ceil", DType::kF64, {x}) == std::vector<double>{-2, -1, 0, 1, 2, 3, 3, -2});
}

TEST_CASE("division rounds down, and what is left over has the sign of the divisor") {
  const std::vector<double> a = {7, -7, 7, -7, 6, -6, 0, 1}, b = {2, 2, -2, -2, 3, 3, -5, -3};
  const std::vector<double> quotient = {3, -4, -4, 3, 2, -2, 0, -1}, rest = {1, 1, -1, -1, 0, 0, 0, -2};
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64}) {
    CAPTURE(static_cast<int>(dtype));
    CHECK(apply("floordiv", dtype, {a, b}) == quotient);
    CHECK(apply("mod", dtype, {a, b}) == rest);
  }
  CHECK(apply("floordiv", DType::kF64, {{1, 0.3, -1e-20}, {0.1, 0.1, 1}}) == std::vector<double>{9, 2, -1});
  CHECK(apply("mod", DType::kF64, {{-1e-20}, {1}}) == std::vector<double>{1});
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(apply("floordiv", DType::kF64, {{1, -1}, {0, 0}}) == std::vector<double>{inf, -inf});
  CHECK(std::isnan(apply("mod", DType::kF64, {{1}, {0}})[0]));
}

TEST_CASE("the smallest integer wraps around where it has no opposite") {
  for (const auto& [dtype, smallest] : {std::pair{DType::kI32, -0x1p31}, std::pair{DType::kI64, -0x1p63}}) {
    CHECK(apply("floordiv", dtype, {{smallest}, {-1}}) == std::vector<double>{smallest});
    CHECK(apply("mod", dtype, {{smallest}, {-1}}) == std::vector<double>{0});
    CHECK(apply("abs", dtype, {{smallest}}) == std::vector<double>{smallest});
  }
}

TEST_CASE("dividing integers by 0 is an error that names the element of the whole divisor") {
  const HostTensor a = value_of({DType::kI32, dims_of("a=2 b=3")}, {1, 2, 3, 4, 5, 6});
  const HostTensor b = value_of({DType::kI32, dims_of("a=2 b=3")}, {1, 1, 1, 1, 0, 1});
  for (const char* op : {"floordiv", "mod"}) {
    CHECK_THROWS_WITH_AS(call_kernel({.op = op, .operands = {a, b}}), "the divisor is 0 at [a=1, b=1]",
                         RunError);
    const Box second = {{1, 2}, {0, 3}};
    CHECK_THROWS_WITH_AS(
        call_kernel({.op = op, .operands = {a, b}, .operand_boxes = {second, second}, .result_box = second}),
        "the divisor is 0 at [a=1, b=1]", RunError);
  }
}

TEST_CASE("not-a-number passes through sign and minimum, and no comparison but not_equal holds for it") {
  CHECK(std::isnan(apply("sign", DType::kF32, {{kNaN}})[0]));
  CHECK(std::isnan(apply("minimum", DType::kF32, {{kNaN}, {1}})[0]));
  CHECK(std::isnan(apply("minimum", DType::kF32, {{1}, {kNaN}})[0]));
  for (const char* op : {"equal", "less", "less_equal", "greater", "greater_equal"})
    CHECK(apply_comparison(op, kNaN, 1) == 0);
  CHECK(apply_comparison("not_equal", kNaN, kNaN) == 1);
}

}  // namespace mtfc::elementwise_test
