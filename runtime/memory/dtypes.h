#pragma once
// Maps a DType to the C++ type of its elements. A bool is one byte that holds 0 or 1.

#include <cstdint>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/tensors/bf16.h"
#include "core/tensors/shape.h"

namespace mtfc {

template <typename T>
inline constexpr DType kDTypeOf = DType::kBool;
template <>
inline constexpr DType kDTypeOf<float> = DType::kF32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kF64;
template <>
inline constexpr DType kDTypeOf<Bf16> = DType::kBF16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kI32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kI64;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kI8;
static_assert(sizeof(bool) == 1);

template <typename... Ts>
struct Types {};
using Floats = Types<float, double, Bf16>;
using Integers = Types<int32_t, int64_t>;
using Numbers = Types<float, double, Bf16, int32_t, int64_t>;
using AllTypes = Types<float, double, Bf16, int32_t, int64_t, bool, int8_t>;
/// The same with a byte in the place of a bool.
using StoredTypes = Types<float, double, Bf16, int32_t, int64_t, uint8_t, int8_t>;
/// The types that models may name (model_dtypes()).
using ModelTypes = Types<float, double, Bf16, int32_t, int64_t, bool>;
/// For kernels of operations that compute in f32 in place of bf16 (OpTraits::in_f32).
using WideFloats = Types<float, double>;
using WideNumbers = Types<float, double, int32_t, int64_t>;

/// Returns `choose.operator()<T>()` for the type T of `dtype`, which must be one of First and Rest; throws
/// InternalError otherwise. All instances of `choose` return the same type.
template <typename First, typename... Rest, typename F>
auto dispatch(Types<First, Rest...>, DType dtype, F choose) {
  if (kDTypeOf<First> == dtype) return choose.template operator()<First>();
  if constexpr (sizeof...(Rest) > 0)
    return dispatch(Types<Rest...>{}, dtype, choose);
  else
    throw InternalError("a kernel meets a dtype that its operation refuses");
}

}  // namespace mtfc
