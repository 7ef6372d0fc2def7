#pragma once
// Arithmetic on numbers of any dtype in which integers wrap around, as in hardware, instead of being
// undefined.

#include <type_traits>

namespace mtfc {

/// Integers as unsigned ones, whose sums wrap around, and other numbers as they are.
template <typename T, bool = std::is_integral_v<T>>
struct WrappingNumber {
  using Type = T;
};
template <typename T>
struct WrappingNumber<T, true> {
  using Type = std::make_unsigned_t<T>;
};
template <typename T>
using WrappingType = typename WrappingNumber<T>::Type;

template <typename T>
T add_wrapping(T a, T b) {
  using U = WrappingType<T>;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}

template <typename T>
T sub_wrapping(T a, T b) {
  using U = WrappingType<T>;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}

template <typename T>
T mul_wrapping(T a, T b) {
  using U = WrappingType<T>;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}

}  // namespace mtfc
