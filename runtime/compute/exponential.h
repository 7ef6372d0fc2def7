#pragma once
// e to the power of x as the loops of runtime/compute/tile.h take it: without the branch of the vector functions for
// results below the normal numbers, which costs a hundred times as much, and which every masked score of an
// attention would take. Results that small are 0.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace mtfc {

template <typename T>
T exponential(T x) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;
  // Somewhat above the logarithm of the smallest normal number.
  constexpr T kLeast = std::is_same_v<T, float> ? -87 : -708;
  // Among the numbers with a sign, those that are further from 0 have larger bits, NaN the largest. Of a
  // choice between kLeast and x the compiler would make one between two powers, and take that of x as it is.
  const T power = std::exp(std::bit_cast<T>(std::min(std::bit_cast<Bits>(x), std::bit_cast<Bits>(kLeast))));
  return x < kLeast ? T{0} : x == x ? power : x;
}

}  // namespace mtfc
