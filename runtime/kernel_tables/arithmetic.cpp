#include <cmath>
#include <type_traits>

#include "runtime/compute/elementwise.h"
#include "runtime/compute/floor_division.h"
#include "runtime/compute/nan_aware.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::arithmetic_kernels {
namespace {

struct Magnitude {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    return x < 0 ? sub_wrapping(T{}, x) : x;
  }
};

constexpr NamedKernel kRows[] = {
    {"add", binary_kernel(Numbers{}, [](auto a, auto b) { return add_wrapping(a, b); })},
    {"sub", binary_kernel(Numbers{}, [](auto a, auto b) { return sub_wrapping(a, b); })},
    {"mul", binary_kernel(Numbers{}, [](auto a, auto b) { return mul_wrapping(a, b); })},
    {"div", binary_kernel(Floats{}, [](auto a, auto b) { return a / b; })},
    {"floordiv", floor_division_kernel([](auto a, auto b) { return floor_quotient(a, b); })},
    {"mod", floor_division_kernel([](auto a, auto b) { return floor_remainder(a, b); })},
    {"maximum", binary_kernel(Numbers{}, [](auto a, auto b) { return larger(a, b); })},
    {"minimum", binary_kernel(Numbers{}, [](auto a, auto b) { return smaller(a, b); })},
    {"abs", unary_kernel(Numbers{}, Magnitude{})},
    {"neg", unary_kernel(Numbers{}, [](auto x) { return sub_wrapping(decltype(x){}, x); })},
    {"reciprocal", unary_kernel(Floats{}, [](auto x) { return 1 / x; })},
    {"relu", unary_kernel(Numbers{}, [](auto x) { return x <= 0 ? decltype(x){} : x; })},
    {"sign",
     unary_kernel(Numbers{}, []<typename T>(T x) { return x != x ? x : static_cast<T>((x > 0) - (x < 0)); })},
    {"square", unary_kernel(Numbers{}, [](auto x) { return mul_wrapping(x, x); })},
};

}  // namespace

extern const std::span<const NamedKernel> kKernels = kRows;

}  // namespace mtfc::arithmetic_kernels
