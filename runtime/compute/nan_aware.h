#pragma once
// The larger and the smaller of two numbers. A NaN on either side gives NaN, unlike in std::max and std::fmax. If the
// numbers compare equal, as zeros of either sign do, the result is `b`.

namespace mtfc {

// `a != a` holds for NaN alone; on integers the compiler drops it.
template <typename T>
[[gnu::always_inline]] constexpr T larger(T a, T b) {
  return a != a || a > b ? a : b;
}

template <typename T>
[[gnu::always_inline]] constexpr T smaller(T a, T b) {
  return a != a || a < b ? a : b;
}

}  // namespace mtfc
