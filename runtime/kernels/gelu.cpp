#include <cmath>
#include <numbers>
#include <type_traits>

#include "runtime/compute/elementwise.h"

namespace mtfc::gelu_kernel {
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

}  // namespace

extern const KernelDef kKernel = unary_kernel(Floats{}, Gelu{});

}  // namespace mtfc::gelu_kernel
