#pragma once
// The larger and the smaller of two numbers, where a NaN on either side gives NaN, unlike std::max and
// std::fmax. Of numbers that compare equal, as zeros of either sign do, `b` is given.

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
