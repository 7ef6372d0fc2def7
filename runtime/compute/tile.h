#pragma once
// A loop over consecutive elements: a function of one element becomes three loops (AVX-512, AVX2, the compiler's
// target; run_widest.h), and tile_function chooses one of them.
//
// exp, log, tanh, erf and the like are glibc's vector functions (libmvec), accurate to 4 units in the last
// place. An element's result does not depend on its position: the floats left over after the last whole
// vector go through the same vector code, padded with zeros.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/tensors/bf16.h"
#include "runtime/compute/vector_targets.h"

#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35) && !defined(__clang__)
// clang lacks the attribute. glibc declares its vector functions only under -ffast-math, which would give up
// NaN and infinities too.
#define MTFC_VECTOR_FUNCTION(name)                                               \
  extern "C" __attribute__((simd("notinbranch"))) float name##f(float) noexcept; \
  extern "C" __attribute__((simd("notinbranch"))) double name(double) noexcept;
MTFC_VECTOR_FUNCTION(exp)
MTFC_VECTOR_FUNCTION(log)
MTFC_VECTOR_FUNCTION(log1p)
MTFC_VECTOR_FUNCTION(sin)
MTFC_VECTOR_FUNCTION(cos)
MTFC_VECTOR_FUNCTION(tanh)
MTFC_VECTOR_FUNCTION(erf)
MTFC_VECTOR_FUNCTION(erfc)
extern "C" __attribute__((simd("notinbranch"))) float powf(float, float) noexcept;
extern "C" __attribute__((simd("notinbranch"))) double pow(double, double) noexcept;
#undef MTFC_VECTOR_FUNCTION
#endif

namespace mtfc {

/// The type of results of F on elements of types Ts. F is given bf16 as f32; an f32 result of such an F becomes bf16.
template <typename F, typename... Ts>
using ResultOf = std::conditional_t<std::is_same_v<decltype(F{}(Computed<Ts>{}...)), float> &&
                                        (std::is_same_v<Ts, Bf16> || ...),
                                    Bf16, decltype(F{}(Computed<Ts>{}...))>;

template <typename Result, typename F, typename... Ts>
struct Tile {
  MTFC_INLINE void run(const std::byte* const* operands, std::byte* result, int64_t count) {
    run_each(operands, result, count, std::index_sequence_for<Ts...>{});
  }

 private:
  static constexpr int64_t kVector = 16;  // elements, in one or more vectors

  template <size_t... I>
  MTFC_INLINE void run_each(const std::byte* const* operands, std::byte* result, int64_t count,
                            std::index_sequence<I...>) {
    if constexpr (!(std::is_floating_point_v<Computed<Ts>> || ...)) {
      loop(reinterpret_cast<Result*>(result), count, reinterpret_cast<const Ts*>(operands[I])...);
      return;
    }
    const int64_t whole = count - count % kVector;
    loop(reinterpret_cast<Result*>(result), whole, reinterpret_cast<const Ts*>(operands[I])...);
    if (whole == count) return;
    const auto rest = static_cast<size_t>(count - whole);
    Result last[kVector];
    std::tuple<Ts[kVector]...> padded{};
    (std::memcpy(std::get<I>(padded), reinterpret_cast<const Ts*>(operands[I]) + whole, rest * sizeof(Ts)),
     ...);
    loop(last, kVector, std::get<I>(padded)...);
    std::memcpy(reinterpret_cast<Result*>(result) + whole, last, rest * sizeof(Result));
  }

  static constexpr bool kConverts = std::is_same_v<Result, Bf16> || (std::is_same_v<Ts, Bf16> || ...);

  [[gnu::always_inline]] static inline void loop(Result* result, int64_t count, const Ts*... operand) {
    if constexpr (kConverts)
      loop_in_f32(result, count, std::index_sequence_for<Ts...>{}, operand...);
    else
      loop_over(result, count, operand...);
  }

  // Nothing is carried from one element to the next, even if the result overwrites an operand.
  template <typename To, typename... From>
  [[gnu::always_inline]] static inline void loop_over(To* result, int64_t count, const From*... operand) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) assign(result[i], F{}(operand[i]...));
  }

  // Loops that convert a few elements and loops that compute with them: the compiler turns each of them into vector
  // code, but seldom one loop that does both.
  template <size_t... I>
  [[gnu::always_inline]] static inline void loop_in_f32(Result* result, int64_t count,
                                                        std::index_sequence<I...>, const Ts*... operand) {
    constexpr int64_t kTogether = 256;
    alignas(64) Computed<Result> made[kTogether];
    std::tuple<Wide<Ts, kTogether>...> wide;
    for (int64_t start = 0; start < count; start += kTogether) {
      const int64_t some = std::min(kTogether, count - start);
      Computed<Result>* to = made;
      if constexpr (!std::is_same_v<Result, Bf16>) to = result + start;
      loop_over(to, some, std::get<I>(wide).of(operand + start, some)...);
      if constexpr (std::is_same_v<Result, Bf16>) {
#pragma omp simd
        for (int64_t i = 0; i < some; ++i) assign(result[start + i], made[i]);
      }
    }
  }

  // A few elements of an operand, as f32 where they are bf16.
  template <typename T, int64_t kCount>
  struct Wide {
    [[gnu::always_inline]] inline const T* of(const T* elements, int64_t) { return elements; }
  };
  template <int64_t kCount>
  struct Wide<Bf16, kCount> {
    alignas(64) float elements[kCount];
    [[gnu::always_inline]] inline const float* of(const Bf16* from, int64_t count) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) elements[i] = from[i];
      return elements;
    }
  };
};

}  // namespace mtfc
