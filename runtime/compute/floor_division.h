#pragma once
// Division that rounds down, as in Python's // and %: a == floor_quotient(a, b) * b + floor_remainder(a, b),
// and the remainder has the sign of the divisor. Example: -7 by 2 is -4 with remainder 1; 7 by -2 is -4 with
// remainder -1.
//
// Floats divided by 0 follow IEEE 754. Integers must not be divided by 0; the smallest one divided by -1
// wraps around.

#include <cmath>
#include <type_traits>

#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {

template <typename T>
T floor_remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(rest, b);
    return (rest < 0) == (b < 0) ? rest : rest + b;
  } else {
    if (b == -1) return 0;
    const T rest = static_cast<T>(a % b);
    return rest == 0 || (rest < 0) == (b < 0) ? rest : static_cast<T>(rest + b);
  }
}

template <typename T>
T floor_quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == 0) return a / b;
    // a - rest is a multiple of b, so the quotient is an integer except for the rounding of the division.
    const T rest = std::fmod(a, b);
    const T quotient = std::nearbyint((a - rest) / b);
    return rest != 0 && (rest < 0) != (b < 0) ? quotient - 1 : quotient;
  } else {
    if (b == -1) return sub_wrapping(T{}, a);
    const T rest = static_cast<T>(a % b);
    return static_cast<T>(a / b - (rest != 0 && (rest < 0) != (b < 0)));
  }
}

/// Throws RunError if one of the integers `divisors` is 0; the message gives its position in the global
/// tensor.
void refuse_zeros(const LocalTensor& divisors, const std::byte* data);

/// A kernel of `function(a, b)` on numbers that refuses integer divisors of 0 beforehand.
template <typename F>
constexpr KernelDef floor_division_kernel(F) {
  return {.prepare = [](const KernelSite& site) -> Kernel {
    const Kernel divide = prepare_elementwise(site, binary_kernel(Numbers{}, F{}).tile(tile_types(site)));
    const LocalTensor divisors = site.operands[1];
    if (is_float(divisors.type.dtype)) return divide;
    return [divide, divisors](const KernelRun& run) {
      refuse_zeros(divisors, run.operands[1]);
      return divide(run);
    };
  }};
}

}  // namespace mtfc
