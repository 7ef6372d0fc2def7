#include "runtime/elementwise.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/example.h"
#include "runtime/example_data.h"
#include "runtime/kernel_call.h"

namespace mtfc {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> apply(std::string_view op, DType dtype, const std::vector<std::vector<double>>& operands,
                          const Attributes& attributes = {}) {
  KernelCall call{.op = op, .attributes = attributes};
  for (const std::vector<double>& x : operands)
    call.operands.push_back(tensor_of({dtype, {{"a", static_cast<int64_t>(x.size())}}}, x));
  return numbers_of(call_kernel(call).result);
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
  kernel_named("mul").prepare(site)({operands, {&result, 1}, nullptr, 0, 0});
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

}  // namespace mtfc
