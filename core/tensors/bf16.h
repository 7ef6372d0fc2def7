#pragma once
// bf16, the upper half of an f32: 8 bits of exponent as f32 has, 8 bits of precision where f32 has 24.

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace mtfc {

/// A number as it is stored. Arithmetic converts it to f32; a conversion from f32 rounds to the nearest
/// bf16, of two equally near ones to the even one, and one from another type goes through f32. Every NaN becomes a
/// quiet NaN.
struct Bf16 {
  uint16_t bits;

  Bf16() = default;
  explicit constexpr Bf16(float value) : bits(rounded(std::bit_cast<uint32_t>(value))) {}
  template <typename T>
  requires std::is_arithmetic_v<T>
  explicit constexpr Bf16(T value) : Bf16(static_cast<float>(value)) {}
  constexpr operator float() const {  // NOLINT(google-explicit-constructor)
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

 private:
  static constexpr uint16_t rounded(uint32_t f32) {
    // Without a branch, so that the compiler makes vector code of loops.
    const uint32_t nearest = (f32 + 0x7fff + (f32 >> 16 & 1)) >> 16, quiet = f32 >> 16 | 0x40;
    const uint32_t is_nan = (f32 & 0x7fffffff) > 0x7f800000;
    return static_cast<uint16_t>(nearest ^ ((nearest ^ quiet) & (0 - is_nan)));
  }
};
static_assert(sizeof(Bf16) == 2 && std::is_trivially_copyable_v<Bf16>);

/// The type in which elements of type T are computed with.
template <typename T>
using Computed = std::conditional_t<std::is_same_v<T, Bf16>, float, T>;

/// to = T(value). Compilers make vector code of this in a loop for bf16, too, which they do not of an assignment of
/// structures.
template <typename T, typename V>
[[gnu::always_inline]] inline void assign(T& to, V value) {
  if constexpr (std::is_same_v<T, Bf16>)
    to.bits = Bf16(value).bits;
  else
    to = static_cast<T>(value);
}

}  // namespace mtfc
