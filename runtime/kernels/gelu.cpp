#include <cmath>
#include <numbers>

#include "runtime/elementwise.h"

namespace mtfc {
namespace {

struct Gelu {
  template <typename T>
  T operator()(T x) const {
    // 1 + erf(x), written so that nothing cancels where x is far below 0.
    constexpr T kScale = std::numbers::sqrt2_v<T> / 2;
    return x * std::erfc(-x * kScale) / 2;
  }
};

}  // namespace

extern const KernelDef k_gelu_kernel = {
    .tile = [](const TileTypes& types) { return unary_tile(types, Floats{}, Gelu{}); },
};

}  // namespace mtfc
