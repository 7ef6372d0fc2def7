#pragma once
// e to the power of x for the loops of runtime/compute/tile.h. The vector functions branch for results below
// the normal numbers, which costs a hundred times as much and would happen for every masked score of an
// attention; here results that small are 0.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace mtfc {

template <typename T>
T exponential(T x) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;
  // Slightly above the logarithm of the smallest normal number.
  constexpr T kLeast = std::is_same_v<T, float> ? -87 : -708;
  // Comparing bits clamps x from below: among negative numbers, a larger magnitude has larger bits, NaN the
  // largest. A conditional between kLeast and x would not do: the compiler would turn it into one between
  // their two exponentials, and compute that of the unclamped x.
  const T power = std::exp(std::bit_cast<T>(std::min(std::bit_cast<Bits>(x), std::bit_cast<Bits>(kLeast))));
  return x < kLeast ? T{0} : x == x ? power : x;
}

}  // namespace mtfc
