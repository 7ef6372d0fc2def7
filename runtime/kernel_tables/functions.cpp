#include <cmath>
#include <numbers>
#include <type_traits>

#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc::functions_kernels {
namespace {

struct Gelu {
  template <typename T>
  T operator()(T x) const {
    constexpr T kScale = std::numbers::sqrt2_v<T> / 2;
    if constexpr (std::is_same_v<T, float>) return x * (1 + std::erf(x * kScale)) / 2;
    // 1 + erf(x), written so that nothing cancels for x far below 0, at twice the cost.
    return x * std::erfc(-x * kScale) / 2;
  }
};

constexpr NamedKernel kRows[] = {
    {"ceil", unary_kernel(Floats{}, [](auto x) { return std::ceil(x); })},
    {"floor", unary_kernel(Floats{}, [](auto x) { return std::floor(x); })},
    {"round", unary_kernel(Floats{}, [](auto x) { return std::nearbyint(x); })},
    {"sqrt", unary_kernel(Floats{}, [](auto x) { return std::sqrt(x); })},
    {"rsqrt", unary_kernel(Floats{}, [](auto x) { return 1 / std::sqrt(x); })},
    {"pow", binary_kernel(Floats{}, [](auto a, auto b) { return std::pow(a, b); })},
    {"exp", unary_kernel(Floats{}, [](auto x) { return exponential(x); })},
    {"log", unary_kernel(Floats{}, [](auto x) { return std::log(x); })},
    {"sin", unary_kernel(Floats{}, [](auto x) { return std::sin(x); })},
    {"cos", unary_kernel(Floats{}, [](auto x) { return std::cos(x); })},
    {"tanh", unary_kernel(Floats{}, [](auto x) { return std::tanh(x); })},
    {"erf", unary_kernel(Floats{}, [](auto x) { return std::erf(x); })},
    {"sigmoid", unary_kernel(Floats{}, [](auto x) { return 1 / (1 + exponential(-x)); })},
    {"gelu", unary_kernel(Floats{}, Gelu{})},
    {"silu", unary_kernel(Floats{}, [](auto x) { return x / (1 + exponential(-x)); })},
    {"softplus",
     unary_kernel(Floats{}, [](auto x) { return (x < 0 ? 0 : x) + std::log1p(exponential(-std::abs(x))); })},
};

}  // namespace

extern const std::span<const NamedKernel> kKernels = kRows;

}  // namespace mtfc::functions_kernels
